#pragma once
/// The series of a run that are compared with those of other runs (run_comparison.hpp).

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/run_comparison.hpp"
#include "offline/experiment/experiment.hpp"

namespace refrain::analysis {

/// Maximum number of ranks that are read; of more ranks, some are chosen.
inline constexpr std::size_t most_ranks_of_series = 16;

/// The marked loops, and in each the call paths that have at least this share of its time, summed over its locations.
/// An iteration's time is the mean over the ranks whose first threads have it, of at most most_ranks_of_series ranks.
/// For a run without marks, the series of the whole run, with the errors of its samples. `also`: loops and call paths
/// that are wanted whatever their share.
std::vector<RunSeries> series_of_run(const experiment::Experiment& experiment, const CallTree& tree, double least_share,
                                     const std::set<std::pair<std::string, std::string>>& also = {});

}  // namespace refrain::analysis

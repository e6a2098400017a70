#pragma once
/// What of a run is compared with other runs (run_comparison.hpp).

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/run_comparison.hpp"
#include "offline/experiment/experiment.hpp"

namespace refrain::analysis {

/// So many are read; of more ranks some.
inline constexpr std::size_t most_ranks_of_series = 16;

/// The marked loops, and in each the call paths that have at least this share of its time, over its locations together:
/// an iteration's time is the mean over the ranks whose first threads have it, of at most that many ranks. Of a run
/// without marks the whole run, with the errors of its samples. `also`: loops and call paths that are wanted whatever
/// their share is.
std::vector<RunSeries> series_of_run(const experiment::Experiment& experiment, const CallTree& tree, double least_share,
                                     const std::set<std::pair<std::string, std::string>>& also = {});

}  // namespace refrain::analysis

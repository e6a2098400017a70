#pragma once
/// Patterns of waiting as metrics of iterations.

#include <memory>
#include <string>
#include <vector>

#include "offline/experiment/experiment.hpp"
#include "offline/explorer/run.hpp"
#include "offline/report/iteration_source.hpp"

namespace refrain::explorer {

struct PatternSource {
  std::string name;
  std::shared_ptr<const report::IterationSource> source;
};

/// Names of the patterns that cost something, largest first, at most `most`. Adds to `lacks` how many are left out.
std::vector<std::string> largest_patterns(const std::vector<experiment::SavedMetric>& found, std::size_t most,
                                          std::vector<Lack>& lacks);

/// The patterns with the highest costs among those that tools have found, at most `most`. Searches the events once more
/// if they are few enough; adds to `lacks` what is missing. Empty: no events, too many of them, or nothing has waited.
std::vector<PatternSource> pattern_sources(const std::shared_ptr<const experiment::Experiment>& experiment,
                                           const std::vector<experiment::SavedMetric>& found, std::size_t most,
                                           std::vector<Lack>& lacks);

}  // namespace refrain::explorer

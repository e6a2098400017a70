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

/// Those that cost most of what tools have found, `most` of them. Searches the events once more, where they are few
/// enough for it; what is missing is told. None: there are no events, or nothing has waited.
std::vector<PatternSource> pattern_sources(const std::shared_ptr<const experiment::Experiment>& experiment,
                                           const std::vector<experiment::SavedMetric>& found, std::size_t most,
                                           std::vector<Lack>& lacks);

}  // namespace refrain::explorer

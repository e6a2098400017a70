#pragma once
/// An experiment as the explorer shows it: the one place that knows both the explorer's tables and the model of a run
/// (offline/run/).

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/explorer/run.hpp"
#include "offline/report/found.hpp"
#include "offline/report/node_waits.hpp"
#include "offline/report/report.hpp"
#include "offline/symbols/symbols.hpp"

namespace refrain::explorer {

/// A performance property that holds, by names.
struct FoundProperty {
  std::string name, context, region;  ///< region: a function that the context is about; empty: none
  double severity = 0, confidence = 0;
};

/// What was found elsewhere, and how large the data may become.
struct Request {
  report::Found found;
  std::vector<Lack> lacks;  ///< of the search
  /// Asked for the properties when the call tree and its waiting are known, but not of runs that are too large for it;
  /// null: nobody knows.
  std::function<std::vector<FoundProperty>(const analysis::CallTree& tree, const std::vector<report::NodeWait>& waits)>
      properties;
  std::size_t bytes = std::size_t{20} << 20;
  /// Call paths of clusters, or of single iterations, that are read at all locations of a loop: a few seconds. Where
  /// they are more, some of the locations are read.
  std::int64_t path_values = 20'000'000;
  std::function<void(std::size_t done, std::size_t all)> progress = [](std::size_t, std::size_t) {};
};

/// Reads the ranks twice, and those with a loop two more times for it, several at a time. The result does not depend on
/// the number of threads. Throws experiment::ReadError.
Run run_of(const std::shared_ptr<const experiment::Experiment>& experiment, symbols::Symbolizer& symbolizer,
           const Request& request);

}  // namespace refrain::explorer

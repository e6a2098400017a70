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

/// Results found elsewhere, and limits of the size of the data.
struct Request {
  report::Found found;
  std::vector<Lack> lacks;  ///< of the search
  /// Called for the properties when the call tree and its waiting are known, unless the run is too large; null: the
  /// properties are not available.
  std::function<std::vector<FoundProperty>(const analysis::CallTree& tree, const std::vector<report::NodeWait>& waits)>
      properties;
  std::size_t bytes = std::size_t{20} << 20;
  /// Maximum number of call paths of clusters, or of single iterations, to read at all locations of a loop: this takes
  /// a few seconds. If there are more, only some of the locations are read.
  std::int64_t path_values = 20'000'000;
  std::function<void(std::size_t done, std::size_t all)> progress = [](std::size_t, std::size_t) {};
};

/// Reads the ranks twice, and ranks with a loop twice more for that loop, several at a time. The result does not depend
/// on the number of threads. Throws experiment::ReadError.
Run run_of(const std::shared_ptr<const experiment::Experiment>& experiment, symbols::Symbolizer& symbolizer,
           const Request& request);

}  // namespace refrain::explorer

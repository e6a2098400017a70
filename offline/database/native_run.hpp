#pragma once
/// An experiment of Refrain as a run for a database.

#include <map>
#include <memory>
#include <optional>

#include "offline/analysis/call_tree.hpp"
#include "offline/database/run_source.hpp"
#include "offline/experiment/experiment.hpp"

namespace refrain::database {

/// Exclusive waiting of a call path for other processes.
struct NodeWaiting {
  std::optional<run::Estimate> wait = std::nullopt;  ///< unset: unknown
  double confidence = unknown;
  std::string kind;
  std::map<std::int32_t, double> by_rank = {};  ///< seconds by rank, where ranks are distinguished
};

/// `tree`: that of the experiment. `waiting`: by node of the tree, or empty. Both must outlive the source.
std::unique_ptr<RunSource> native_run(const std::shared_ptr<const experiment::Experiment>& experiment,
                                      const analysis::CallTree& tree, const std::vector<NodeWaiting>& waiting);

/// Identifies the same experiment, even in another directory. Throws experiment::ReadError.
std::string digest_of_experiment(const std::filesystem::path& directory);

}  // namespace refrain::database

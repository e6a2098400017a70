#pragma once
/// An experiment of Refrain as a run for a database.

#include <map>
#include <memory>

#include "offline/analysis/call_tree.hpp"
#include "offline/database/run_source.hpp"
#include "offline/experiment/experiment.hpp"

namespace refrain::database {

/// How long a call path has waited for other processes (exclusive, in seconds).
struct NodeWaiting {
  double seconds = unknown, error_s = unknown, confidence = unknown;
  std::string kind;
  std::map<std::int32_t, double> by_rank = {};  ///< of the seconds, where ranks are told apart
};

/// `tree` is the experiment's, `waiting` by its nodes or empty; both must outlive the source.
std::unique_ptr<RunSource> native_run(const std::shared_ptr<const experiment::Experiment>& experiment,
                                      const analysis::CallTree& tree, const std::vector<NodeWaiting>& waiting);

/// By what the same experiment is recognised, also in another directory. Throws experiment::ReadError.
std::string digest_of_experiment(const std::filesystem::path& directory);

}  // namespace refrain::database

#pragma once
/// A run as databases and queries use it, with the data it was read from: an experiment, or a profile or archive of
/// another tool.

#include <memory>
#include <string>
#include <vector>

#include "offline/database/native_run.hpp"
#include "offline/findings/finding.hpp"
#include "offline/report/node_waits.hpp"

namespace refrain::tools {

struct ReadRun {
  std::shared_ptr<const experiment::Experiment> experiment;  ///< null: a run of another tool
  analysis::CallTree tree;
  std::vector<database::NodeWaiting> waiting;
  std::vector<findings::Finding> findings;
  std::string not_searched;                     ///< why events were not searched; empty: nothing to report
  std::unique_ptr<database::RunSource> source;  ///< refers to the other members
};

enum class RunNames {
  Usual,     ///< as in reports
  AllFrames  ///< with every frame of language runtimes
};

/// Whether to read `name` as a profile or archive of another tool: it is one (database/profile_run.hpp), or a file that
/// is not a packed experiment, which the reader of profiles then refuses.
bool is_foreign(const std::string& name);

/// `name`: an experiment, or a profile or archive of another tool. Throws experiment::ReadError.
std::shared_ptr<ReadRun> read_run(const std::string& name, RunNames names);

/// Converts `waits`; both are indexed by node of the call tree.
std::vector<database::NodeWaiting> waiting_of(const std::vector<report::NodeWait>& waits);

}  // namespace refrain::tools

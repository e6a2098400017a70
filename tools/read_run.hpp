#pragma once
/// A run as databases and queries take it, with all that it was read from: an experiment, or a profile or archive of
/// another tool.

#include <memory>
#include <string>
#include <vector>

#include "offline/database/native_run.hpp"
#include "offline/findings/finding.hpp"
#include "offline/report/node_waits.hpp"

namespace refrain::tools {

struct ReadRun {
  std::shared_ptr<const experiment::Experiment> experiment;  ///< null: of another tool
  analysis::CallTree tree;
  std::vector<database::NodeWaiting> waiting;
  std::vector<findings::Finding> findings;
  std::string not_searched;                     ///< why events were not searched; empty: there is nothing to say
  std::unique_ptr<database::RunSource> source;  ///< uses the others
};

enum class RunNames {
  Usual,     ///< as reports have them
  AllFrames  ///< with each frame of language runtimes
};

/// Whether `name` is a profile or an OTF2 archive of another tool (database/profile_run.hpp).
bool is_of_other_tool(const std::string& name);
/// Whether `name` is to be read as such: it is one, or a file that is no packed experiment.
bool is_foreign(const std::string& name);

/// `name`: an experiment, or of another tool. Throws experiment::ReadError.
std::shared_ptr<ReadRun> read_run(const std::string& name, RunNames names);

/// By node of the tree that `waits` is of.
std::vector<database::NodeWaiting> waiting_of(const std::vector<report::NodeWait>& waits);

}  // namespace refrain::tools

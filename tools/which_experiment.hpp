#pragma once
/// The experiment that a command works on: the one named, or else the newest one in the working directory.

#include <string>
#include <vector>

#include "tools/command_line.hpp"

namespace refrain::tools {

/// Adds the optional positional argument that names the experiment.
Option add_experiment(Command command, std::string& experiment, const char* description);

/// Throws report::UsageError if two of the paths are the same run: a run counts once.
void check_named_once(const std::vector<std::string>& paths);

/// If `experiment` is empty, sets it to the newest one in the working directory and names it on stderr. False: there is
/// none, and stderr says so.
bool find_experiment(const char* command, std::string& experiment);

}  // namespace refrain::tools

#pragma once
/// Becoming another program, and what this process is to the job that it was started for.

#include <string>
#include <vector>

namespace refrain::tools {

/// Replaces this process. Returns only when that fails: one line on stderr in the shell's words, and the shell's exit
/// code (127 not found, 126 cannot be executed).
int become(const std::vector<std::string>& command);

/// Takes Refrain's libraries out of LD_PRELOAD and the traces of `refrain exec` out of the environment: this process
/// may run below a script that was started with them (runtime/launch.hpp).
void forget_preload();

/// The first rank speaks for all, or a process that knows of no others: by the variables that launchers set.
bool is_first_rank();

/// The command as one would type it into a shell.
std::string quoted(const std::vector<std::string>& command);

}  // namespace refrain::tools

#pragma once
/// Replaces this process by another program, and tells which rank of a job it is.

#include <string>
#include <vector>

namespace refrain::tools {

/// Replaces this process by `command`. Returns only on failure: prints one line on stderr in the shell's words and
/// returns the shell's exit code (127 not found, 126 cannot be executed).
int become(const std::vector<std::string>& command);

/// Removes Refrain's libraries from LD_PRELOAD and the variables of `refrain exec` from the environment: this process
/// may run below a script that was started with them (runtime/launch.hpp).
void forget_preload();

/// Whether this process prints messages for its job: it is the first rank, or no launcher gave it a rank.
bool is_first_rank();

/// Whether this process is the first on its node, according to the launcher; if that does not tell, whether it is the
/// first rank.
bool is_first_rank_of_node();

/// The command, quoted for a shell.
std::string quoted(const std::vector<std::string>& command);

}  // namespace refrain::tools

#pragma once
/// Becoming another program, and which rank of a job this process is.

#include <string>
#include <vector>

namespace refrain::tools {

/// Replaces this process. Returns only when that fails: one line on stderr in the shell's words, and the shell's exit
/// code (127 not found, 126 cannot be executed).
int become(const std::vector<std::string>& command);

/// Takes Refrain's libraries out of LD_PRELOAD and the traces of `refrain exec` out of the environment: this process
/// may run below a script that was started with them (guest/launch.hpp).
void forget_preload();

/// Whether this process speaks for its job: it is the first rank, or no launcher has given it a rank.
bool is_first_rank();

/// Whether it is the first one on its machine, as far as the launcher tells; else the first rank is.
bool is_first_rank_of_node();

/// The command as one would type it into a shell.
std::string quoted(const std::vector<std::string>& command);

}  // namespace refrain::tools

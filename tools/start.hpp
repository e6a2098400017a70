#pragma once
/// Becoming another program.

#include <string>
#include <vector>

namespace refrain::tools {

/// Replaces this process. Returns only when that fails: one line on stderr in the shell's words, and the shell's exit
/// code (127 not found, 126 cannot be executed).
int become(const std::vector<std::string>& command);

/// The command as one would type it into a shell.
std::string quoted(const std::vector<std::string>& command);

}  // namespace refrain::tools

#pragma once
/// Starts a command and waits for it, as if it ran in place of this process.

#include <string>
#include <vector>

namespace refrain::tools {

struct CommandEnd {
  bool started = false;  ///< false: the reason was printed, in the shell's words
  int exit_code = 0;
  int signal = 0;  ///< the signal that killed it; 0: none
};

/// Passes signals that are sent to this process alone on to the command. Signals to the whole process group, from the
/// terminal or another process, have reached the command already, and launchers end at once on a second one. If this
/// process is killed, so is the command.
CommandEnd run_and_wait(const std::vector<std::string>& command);

/// Ends this process as the command ended: by the same signal, or returns its exit code.
int end_alike(const CommandEnd& end);

}  // namespace refrain::tools

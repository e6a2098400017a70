#pragma once
/// Starting a command and waiting for it, as if it stood where this process stands.

#include <string>
#include <vector>

namespace refrain::tools {

struct CommandEnd {
  bool started = false;  ///< false: why not was said, in the shell's words
  int exit_code = 0;
  int signal = 0;  ///< that it died of; 0: none
};

/// Signals that are sent to this process alone go on to the command; those that the terminal or somebody else sends to
/// the whole process group have reached it already, and launchers end at once when told twice. When this process is
/// killed, the command is.
CommandEnd run_and_wait(const std::vector<std::string>& command);

/// Ends this process in the same way. Returns the exit code, if it has one.
int end_alike(const CommandEnd& end);

}  // namespace refrain::tools

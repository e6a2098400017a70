#pragma once
/// The experiment that a command is about: named, or the newest one in the working directory.

#include <string>

#include "tools/command_line.hpp"

namespace refrain::tools {

/// The word of a command that names it; it may be missing.
Option add_experiment(Command command, std::string& experiment, const char* description);

/// Of a command that was given none: `experiment` becomes the newest one here, and which one it is is said on stderr.
/// False: there is none, and that was said.
bool find_experiment(const char* command, std::string& experiment);

}  // namespace refrain::tools

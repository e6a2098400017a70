#pragma once
/// What the subcommands that read an experiment say on stderr: lines that begin with "refrain COMMAND:".

#include <functional>
#include <string>
#include <vector>

#include "offline/experiment/experiment.hpp"

namespace refrain::tools {

/// The complaints so far, without the prefix "refrain COMMAND:".
const std::vector<std::string>& complaints();
/// Sets whether complaints are printed. If not, they are only remembered: another process prints them.
void print_complaints(bool are_printed);
/// Makes a complaint and returns `code`.
int complain(const char* command, int code, const std::string& what);
/// Names the damaged parts of an experiment or archive in a few lines. Returns `exit_damaged`, or `exit_ok` if there
/// are none.
int tell_damage(const char* command, const experiment::DamageLog& log);
/// Runs the body of a command. An exception becomes a complaint and an exit code: `exit_unreadable` for a ReadError,
/// else `exit_usage`.
int guarded(const char* command, const std::function<int()>& run);

}  // namespace refrain::tools

#pragma once
/// What the subcommands that read an experiment say on stderr: lines that begin with "refrain COMMAND:".

#include <string>
#include <vector>

#include "offline/experiment/experiment.hpp"

namespace refrain::tools {

/// What was said so far, without what all lines begin with.
const std::vector<std::string>& complaints();
/// Otherwise they are only remembered: another process prints them.
void print_complaints(bool are_printed);
/// Returns `code`.
int complain(const char* command, int code, const std::string& what);
/// What of the experiment or archive is damaged, in a few lines.
void tell_damage(const char* command, const experiment::DamageLog& log);

}  // namespace refrain::tools

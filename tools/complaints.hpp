#pragma once
/// What the subcommands that read an experiment say on stderr: lines that begin with "refrain COMMAND:".

#include <string>

#include "offline/experiment/experiment.hpp"

namespace refrain::tools {

/// Returns `code`.
int complain(const char* command, int code, const std::string& what);
/// What of the experiment or archive is damaged, in a few lines.
void tell_damage(const char* command, const experiment::DamageLog& log);

}  // namespace refrain::tools

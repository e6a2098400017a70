#pragma once
/// The subcommands of `refrain`, one file each. Each adds itself to the command line and, when chosen, sets the exit
/// code of the Invocation.

#include <string>
#include <vector>

#include "tools/command_line.hpp"

namespace refrain::tools {

/// What a subcommand needs beyond its own options.
struct Invocation {
  std::string executable;            ///< the running `refrain`, absolute
  std::string name;                  ///< the name it was called by
  std::vector<std::string> command;  ///< the words after "--"
  int exit_code = 0;
};

void add_run(Command root, Invocation& invocation);
void add_exec(Command root, Invocation& invocation);
/// Exit codes: 0 done, 1 wrong usage or the report could not be written, 2 the experiment cannot be read. Errors are
/// one line on stderr that begins with "refrain report:".
void add_report(Command root, Invocation& invocation);
void add_view(Command root, Invocation& invocation);
void add_pack(Command root, Invocation& invocation);
void add_events(Command root, Invocation& invocation);
void add_analyze(Command root, Invocation& invocation);
void add_export(Command root, Invocation& invocation);
void add_query(Command root, Invocation& invocation);
void add_properties(Command root, Invocation& invocation);
void add_scaling(Command root, Invocation& invocation);
void add_check(Command root, Invocation& invocation);
void add_db(Command root, Invocation& invocation);
void add_asl(Command root, Invocation& invocation);
void add_info(Command root, Invocation& invocation);
void add_doctor(Command root, Invocation& invocation);
void add_completion(CommandLine& line);

}  // namespace refrain::tools

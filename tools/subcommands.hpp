#pragma once
/// The subcommands of `refrain`, one file each. Each adds itself to the command line and, when chosen, leaves its exit
/// code.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace refrain::tools {

/// What a subcommand needs beyond its own options.
struct Invocation {
  std::string executable;            ///< the running `refrain`, absolute
  std::vector<std::string> command;  ///< what stands behind "--"
  int exit_code = 0;
};

/// Without "--" in front of it the command begins at the first word that is no option of ours, and a "--" in it is its
/// own.
void take_command(Invocation& invocation, std::vector<std::string> words_before_dashes);

void add_run(CLI::App& app, Invocation& invocation);
void add_exec(CLI::App& app, Invocation& invocation);
void add_info(CLI::App& app, Invocation& invocation);
void add_doctor(CLI::App& app, Invocation& invocation);
void add_completion(CLI::App& app);

}  // namespace refrain::tools

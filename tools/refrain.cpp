/// `refrain`: one program, one file per subcommand.

#include <algorithm>
#include <string_view>

#include "tools/command_line.hpp"
#include "tools/installation.hpp"
#include "tools/subcommands.hpp"

namespace {

constexpr const char* footer =
    "Exit codes: 0 success; 1 bad usage, or doctor found what prevents a measurement; 2 an experiment that cannot be "
    "read; 127 and\n"
    "126 a program that is not found or cannot be executed; otherwise those of the measured program.\n"
    "\n"
    "  refrain run -- mpirun -n 4 ./app in.dat     measure a program that was never recompiled\n"
    "  refrain report EXPERIMENT                   see where its time went";

}  // namespace

int main(int argc, char** argv) {
  using namespace refrain::tools;
  Invocation invocation;
  invocation.executable = own_executable(argv[0]).string();
  // What stands behind the first "--" is not ours: it may hold any option.
  char** end = argv + argc;
  char** dashes =
      std::find_if(argv + std::min(argc, 1), end, [](const char* word) { return std::string_view(word) == "--"; });
  if (dashes != end) invocation.command.assign(dashes + 1, end);

  CommandLine line("refrain", "Refrain measures long-running MPI programs in production.", "refrain " REFRAIN_VERSION);
  Command root = line.root();
  root.needs_command();
  root.footer(footer);
  add_run(root, invocation);
  add_exec(root, invocation);
  add_report(root, invocation);
  add_events(root, invocation);
  add_export(root, invocation);
  add_info(root, invocation);
  add_doctor(root, invocation);
  add_completion(line);
  return line.run(static_cast<int>(dashes - argv), argv).value_or(invocation.exit_code);
}

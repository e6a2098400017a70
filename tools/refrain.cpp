/// `refrain`: one program, one file per subcommand.

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tools/command_line.hpp"
#include "tools/console.hpp"
#include "tools/installation.hpp"
#include "tools/subcommands.hpp"

namespace {

constexpr const char* footer =
    "Exit codes: 0 success; 1 bad usage, or doctor found what prevents a measurement; 2 an experiment that cannot be "
    "read; 3 check\n"
    "found something worse; 4 a part of an experiment is damaged, the rest was shown; 127 and 126 a program that is "
    "not found or cannot be executed;\n"
    "otherwise those of the measured program.\n"
    "\n"
    "  refrain run -- mpirun -n 4 ./app in.dat     measure a program that was never recompiled\n"
    "  refrain report EXPERIMENT                   see where its time went\n"
    "  refrain view EXPERIMENT                     the same in a browser, in one file";

/// The words of the command line. refrain-export is another name of `refrain export`, and refrain-analyze of `refrain
/// analyze`.
std::vector<const char*> words_of(int argc, char** argv) {
  std::vector<const char*> words(argv, argv + argc);
  const std::filesystem::path name = argc > 0 ? std::filesystem::path(argv[0]).filename() : "";
  for (const char* command : {"export", "analyze"})
    if (name == std::string("refrain-") + command) words.insert(words.begin() + 1, command);
  return words;
}

int refrain_command(int argc, char** argv) {
  using namespace refrain::tools;
  Invocation invocation;
  invocation.executable = own_executable(argv[0]).string();
  invocation.name = argc > 0 ? argv[0] : "";
  const std::vector<const char*> words = words_of(argc, argv);
  // The words after the first "--" are not ours: they may be any options.
  const auto dashes = std::find_if(words.begin() + std::min(argc, 1), words.end(),
                                   [](const char* word) { return std::string_view(word) == "--"; });
  if (dashes != words.end()) invocation.command.assign(dashes + 1, words.end());

  CommandLine line("refrain", "Refrain measures long-running MPI programs in production.", "refrain " REFRAIN_VERSION);
  Command root = line.root();
  root.needs_command();
  root.footer(footer);
  add_run(root, invocation);
  add_exec(root, invocation);
  add_report(root, invocation);
  add_view(root, invocation);
  add_pack(root, invocation);
  add_events(root, invocation);
  add_analyze(root, invocation);
  add_export(root, invocation);
  add_query(root, invocation);
  add_properties(root, invocation);
  add_scaling(root, invocation);
  add_check(root, invocation);
  add_db(root, invocation);
  add_asl(root, invocation);
  add_info(root, invocation);
  add_doctor(root, invocation);
  add_completion(line);
  return line.run(static_cast<int>(dashes - words.begin()), words.data()).value_or(invocation.exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  return refrain::tools::run_tool("refrain", [&] { return refrain_command(argc, argv); });
}

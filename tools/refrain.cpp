/// `refrain`: one program, one file per subcommand.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fmt/core.h>

#include "tools/command_line.hpp"
#include "tools/exit_codes.hpp"
#include "tools/installation.hpp"
#include "tools/report.hpp"
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

namespace refrain::tools {

void take_command(Invocation& invocation, std::vector<std::string> words_before_dashes) {
  if (words_before_dashes.empty()) return;
  if (words_before_dashes.front().starts_with('-')) throw CLI::ExtrasError(words_before_dashes);
  if (!invocation.command.empty()) words_before_dashes.emplace_back("--");
  words_before_dashes.insert(words_before_dashes.end(), invocation.command.begin(), invocation.command.end());
  invocation.command = std::move(words_before_dashes);
}

}  // namespace refrain::tools

int main(int argc, char** argv) {
  using namespace refrain::tools;
  Invocation invocation;
  invocation.executable = own_executable(argv[0]).string();
  // What stands behind the first "--" is not ours: it may hold any option.
  char** end = argv + argc;
  char** dashes =
      std::find_if(argv + std::min(argc, 1), end, [](const char* word) { return std::string_view(word) == "--"; });
  if (dashes != end) invocation.command.assign(dashes + 1, end);

  CLI::App app{"Refrain measures long-running MPI programs in production."};
  app.name("refrain");
  app.set_version_flag("--version", "refrain " REFRAIN_VERSION);
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(footer);
  add_run(app, invocation);
  add_exec(app, invocation);
  add_report(app, invocation.exit_code);
  add_info(app, invocation);
  add_doctor(app, invocation);
  add_completion(app);
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // the text of --help or --version
    fmt::print(stderr, "{}\n", usage_line(app, error));
    return exit_usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "refrain: {}\n", error.what());
    return exit_unreadable;
  }
  return invocation.exit_code;
}

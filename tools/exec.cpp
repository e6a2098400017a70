/// `refrain exec`: becomes a program with the runtime preloaded. It runs on the compute node, once per rank, started by
/// any launcher, and prints nothing unless the program cannot be measured.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fmt/core.h>
#include <memory>
#include <unistd.h>

#include "config/configuration.hpp"
#include "tools/exit_codes.hpp"
#include "tools/launchers.hpp"
#include "tools/program.hpp"
#include "tools/start.hpp"
#include "tools/subcommands.hpp"

namespace refrain::tools {
namespace fs = std::filesystem;
namespace {

struct ExecOptions {
  std::string library;
  std::vector<std::string> settings;
};

/// One line per job, not per rank: the first rank speaks for all, or a process that knows of no others.
void say_once(const std::string& text) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "ALPS_APP_PE"})
    if (const char* rank = std::getenv(name)) {
      if (std::string_view(rank) != "0") return;
      break;
    }
  fmt::print(stderr, "refrain: {} The program runs unmeasured.\n", text);
}

/// What to preload; empty: nothing, and the reason is said.
fs::path chosen_library(const ExecOptions& options, const Invocation& invocation, const Program& program) {
  std::optional<RuntimeLibrary> wanted = program.mpi;
  if (!options.library.empty()) {
    wanted = runtime_library_of(options.library);
    if (!wanted) {
      if (access(options.library.c_str(), R_OK) == 0) return fs::absolute(options.library);
      say_once(fmt::format("{}: no such runtime library.", options.library));
      return {};
    }
  }
  if (!wanted) wanted = mpi_of_launcher();
  // A launcher that tells nothing about its MPI, and a program that has not said either: whichever MPI this copy
  // supports.
  std::vector<RuntimeLibrary> candidates{wanted.value_or(RuntimeLibrary::Serial)};
  // One that no launcher has started, and that may load MPI by itself.
  if (!wanted && may_load_mpi(program))
    if (const auto expected = mpi_that_may_be_loaded()) candidates.insert(candidates.begin(), *expected);
  if (!program.mpi && options.library.empty() && mpi_of_launcher() == RuntimeLibrary::Serial)
    candidates = {RuntimeLibrary::OpenMpi, RuntimeLibrary::Mpich};
  for (RuntimeLibrary candidate : candidates)
    if (auto file = find_runtime_library(invocation.executable, candidate)) return *file;
  say_once(fmt::format("this copy of Refrain has no librefrain-{}.so.", name_of(candidates.front())));
  return {};
}

/// A program that needs MPI is measured from its start, and so is one that no launcher started; what merely leads to
/// the program (a shell, numactl, an interpreter that may load MPI) lets the measurement through.
bool leads_to_another(const Program& program, const std::string& command) {
  return !program.mpi && (mpi_of_launcher().has_value() || is_prefix_program(command));
}

void preload(const fs::path& library, bool through) {
  std::string list = library.string();
  if (const char* present = std::getenv("LD_PRELOAD"); present && *present) list += ":" + std::string(present);
  setenv("LD_PRELOAD", list.c_str(), 1);
  setenv("REFRAIN_INTERNAL_MODE", through ? "through" : "program", 1);
}

int exec(const ExecOptions& options, const Invocation& invocation) {
  if (invocation.command.empty()) {
    fmt::print(stderr, "refrain exec: no program; usage: refrain exec [options] -- ./app ...\n");
    return exit_usage;
  }
  for (const std::string& setting : options.settings) {
    std::size_t equals = setting.find('=');
    if (equals != std::string::npos) setenv(setting.substr(0, equals).c_str(), setting.c_str() + equals + 1, 1);
  }
  config::Configuration configuration;
  config::ConfigurationError error;
  bool off = config::read_configuration(configuration, error) && !configuration.enable;
  Program program = inspect_program(invocation.command[0]);
  bool exists = program.kind != Program::Kind::Missing && program.kind != Program::Kind::NotExecutable;
  if (off || !exists) return become(invocation.command);

  if (std::string why = why_not_measurable(program); !why.empty()) {
    say_once(fmt::format("{} {}.", invocation.command[0], why));
  } else if (fs::path library = chosen_library(options, invocation, program); !library.empty()) {
    if (library.string().find_first_of(": \t\n") == std::string::npos)
      preload(library, leads_to_another(program, invocation.command[0]));
    else
      say_once(fmt::format("{} has a colon or a blank in its path, which LD_PRELOAD cannot carry.", library.string()));
  }
  return become(invocation.command);
}

}  // namespace

void add_exec(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<ExecOptions>();
  CLI::App* command =
      app.add_subcommand("exec", "Become a program with the measurement preloaded (under any launcher)");
  command
      ->add_option("--library", options->library,
                   "runtime: openmpi, mpich, serial or a file; else found out from the program")
      ->type_name("NAME");
  command->add_option("--env", options->settings, "set an environment variable first")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  command->footer(
      "LAUNCHER... refrain exec [options] -- ./app ARGUMENTS...\n"
      "Needed where `refrain run` cannot rewrite a command line: other launchers, application files, job scripts:\n"
      "  srun -n 64 refrain exec -- ./app in.dat\nThe exit status is that of the program; 127 and 126 as in the "
      "shell.");
  command->prefix_command();
  command->callback([command, options, &invocation] {
    take_command(invocation, command->remaining());
    invocation.exit_code = exec(*options, invocation);
  });
}

}  // namespace refrain::tools

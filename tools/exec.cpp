/// `refrain exec`: becomes a program with the runtime preloaded. Any launcher starts it on the compute node, once per
/// rank. It prints nothing unless the program cannot be measured.

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <fmt/core.h>
#include <memory>
#include <sstream>
#include <unistd.h>

#include "config/configuration.hpp"
#include "config/inlined_code.hpp"
#include "config/iteration_at.hpp"
#include "config/preloading.hpp"
#include "offline/symbols/inlined_code.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/hand_over_functions.hpp"
#include "tools/launchers.hpp"
#include "tools/program.hpp"
#include "tools/run_notes.hpp"
#include "tools/start.hpp"
#include "tools/subcommands.hpp"

namespace refrain::tools {
namespace fs = std::filesystem;
namespace {

struct ExecOptions {
  std::string library;
  std::vector<std::string> settings;
};

/// Prints one line per job, not per rank.
void say_once(const std::string& text) {
  if (!is_first_rank()) return;
  leave_note(note_said, text);
  say("refrain: {} The program runs unmeasured.", text);
}

/// The library to preload; empty: none, and the reason has been printed.
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
  std::vector<RuntimeLibrary> candidates{wanted.value_or(RuntimeLibrary::Serial)};
  // No launcher started the program, and it may load MPI by itself.
  if (!wanted && (may_load_mpi(program) || is_shell(program)))
    if (const auto expected = mpi_that_may_be_loaded()) candidates.insert(candidates.begin(), *expected);
  // A launcher of an unknown MPI, and a program that does not tell either: any MPI that this copy supports.
  if (!program.mpi && options.library.empty() && mpi_of_launcher() == RuntimeLibrary::Serial)
    candidates = {RuntimeLibrary::OpenMpi, RuntimeLibrary::Mpich};
  for (RuntimeLibrary candidate : candidates)
    if (auto file = find_runtime_library(invocation.executable, candidate)) return *file;
  say_once(fmt::format("this copy of Refrain has no librefrain-{}.so.", name_of(candidates.front())));
  return {};
}

/// How the runtime treats the program: its LaunchMode (runtime/launch.hpp).
const char* launch_mode(const ExecOptions& options, const Program& program, const std::string& command) {
  // A program that needs MPI is measured from its start, as is one that no launcher started or that is measured without
  // MPI.
  if (program.mpi || options.library == name_of(RuntimeLibrary::Serial)) return "program";
  if (mpi_of_launcher()) return "through";
  return is_prefix_program(command) || is_shell(program) ? "script" : "program";
}

/// Warns if another MPI's launcher started the program, which would then run several times, each alone.
void warn_of_foreign_launcher(const std::string& command, const Program& program) {
  const auto launcher = foreign_launcher(program);
  if (launcher && is_first_rank())
    say("refrain: {} uses {}, but the launcher is that of {}: each process runs alone, as rank 0 of 1. Start it with "
        "mpiexec.{}.",
        command, name_of(*program.mpi), name_of(*launcher), name_of(*program.mpi));
}

/// Tells the runtime where the function of REFRAIN_ITERATION_AT was inlined into others (config/inlined_code.hpp).
void tell_inlined_code(const Program& program, const config::Configuration& configuration) {
  const auto at = config::parse_iteration_at(configuration.iteration_at);
  if (!at.good || at.function.empty()) return;
  std::vector<fs::path> files{program.file};
  for (const NeededLibrary& library : program.libraries) files.push_back(library.file);
  std::string text;
  for (const fs::path& file : files) {
    if (file.empty()) continue;
    const symbols::CodeOfFunction code = symbols::code_of_function(file.string(), at.function);
    if (code.ranges.empty()) continue;
    std::error_code ignored;
    std::string module = code.build_id.empty() ? fs::weakly_canonical(file, ignored).string() : code.build_id;
    if (module.find_first_of(":;") != std::string::npos) continue;
    std::string line = (text.empty() ? "" : ";") + module;
    char separator = ':';
    for (const auto& range : code.ranges) {
      line += fmt::format("{}{:x}-{:x}", separator, range.begin, range.end);
      separator = ',';
    }
    if (text.size() + line.size() <= config::longest_inlined_code) text += line;
  }
  if (!text.empty()) setenv(config::inlined_code_variable, text.c_str(), 1);
}

/// Hands over the functions' names. Names are not essential: a failure here loses nothing else.
void keep_functions(const Program& program, bool is_told) {
  std::string why;
  try {
    why = hand_over_functions(program);
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (!why.empty() && is_told) say("refrain: the names of functions are not kept at the start: {}", why);
}

/// Whether LD_PRELOAD can name the file: a colon or a blank ends a name there.
bool can_be_listed(const fs::path& file) { return file.string().find_first_of(": \t\n") == std::string::npos; }

/// The library to preload with REFRAIN_ENABLE=off, which may be set on some ranks only: the other ranks would wait in
/// MPI_Init for one without the runtime.
fs::path library_to_take_part(const ExecOptions& options, const Invocation& invocation, const Program& program) {
  if (!program.mpi || !options.library.empty() || !why_not_measurable(program).empty()) return {};
  const fs::path library = find_runtime_library(invocation.executable, *program.mpi).value_or(fs::path());
  return !library.empty() && can_be_listed(library) && why_not_preloadable(program, library).empty() ? library
                                                                                                     : fs::path();
}

/// A path of the library that only glibc's dynamic linker can resolve: it replaces $LIB, while others take it literally
/// and skip files that they do not find. musl's would end a program because of missing symbols.
fs::path for_glibc_only(const fs::path& library) {
  const fs::path directory = library.parent_path() / "refrain/by-libc/$LIB";
  const fs::path probe = directory / "refrain-probe.so";  // empty
  void* found = dlopen(probe.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!found) return library;  // the system has an unexpected $LIB, or this copy is incomplete
  dlclose(found);
  return directory / library.filename();
}

/// Whether a list of files contains one of this name, in any directory.
bool is_listed(const std::string& list, const std::string& name) {
  std::string separated = list;
  std::replace(separated.begin(), separated.end(), ' ', ':');
  std::istringstream files{separated};
  for (std::string file; std::getline(files, file, ':');)
    if (fs::path(file).filename() == name) return true;
  return false;
}

/// Puts the library into LD_PRELOAD behind the sanitizers' libraries (`before`). Those that the user put there keep
/// their place, with everything in front of them; the others precede these.
void preload(const fs::path& library, const std::vector<fs::path>& before) {
  const char* const present = std::getenv("LD_PRELOAD");
  const std::string theirs = present ? present : "";
  std::string first, list;
  for (const fs::path& file : before)
    if (!is_listed(theirs, file.filename().string()) && can_be_listed(file))
      first += (first.empty() ? "" : ":") + file.string();
  std::string rest = theirs, ahead;
  for (const fs::path& file : before)
    if (const std::size_t at = rest.rfind(file.filename().string()); at != std::string::npos) {
      const std::size_t end = std::min(rest.find_first_of(": ", at), rest.size());
      ahead += (ahead.empty() ? "" : ":") + rest.substr(0, end);
      rest = rest.substr(std::min(end + 1, rest.size()));
    }
  for (const std::string& part : {first, ahead, library.string(), rest})
    if (!part.empty()) list += (list.empty() ? "" : ":") + part;
  setenv("LD_PRELOAD", list.c_str(), 1);
  if (!first.empty()) setenv(config::first_variable, first.c_str(), 1);
}

/// Any program may inherit the runtime from a script or a shell, and none of these has been examined.
void prepare_for_any_program() {
  const char* const present = std::getenv(config::asan_variable);
  const std::string theirs = present ? present : "";
  if (theirs.find("verify_asan_link_order") != std::string::npos) return;
  setenv(config::asan_variable, (config::asan_option + (theirs.empty() ? "" : ":" + theirs)).c_str(), 1);
  setenv(config::asan_added_variable, "1", 1);
}

void start_measured(const fs::path& library, const Program& program, std::string_view mode,
                    const Invocation& invocation) {
  setenv(config::mode_variable, std::string(mode).c_str(), 1);
  if (mode == "program") return preload(library, libraries_that_come_first(program));
  preload(for_glibc_only(library), {});
  prepare_for_any_program();
  if (mode != "script") return;
  setenv("REFRAIN_INTERNAL_TOOL", invocation.executable.c_str(), 1);
  setenv("REFRAIN_INTERNAL_LAUNCHERS", names_of_launchers().c_str(), 1);
}

/// Sets up the environment for the measurement if the command can be measured. Returns the command to execute.
std::vector<std::string> prepare(const ExecOptions& options, const Invocation& invocation) {
  for (const std::string& setting : options.settings) {
    std::size_t equals = setting.find('=');
    if (equals != std::string::npos) setenv(setting.substr(0, equals).c_str(), setting.c_str() + equals + 1, 1);
  }
  forget_preload();
  config::Configuration configuration;
  config::ConfigurationError error;
  const bool understood = config::read_configuration(configuration, error);
  const bool off = understood && !configuration.enable;
  Program program = inspect_command(invocation.command);
  bool exists = program.kind != Program::Kind::Missing && program.kind != Program::Kind::NotExecutable;
  if (off && exists)
    if (const fs::path library = library_to_take_part(options, invocation, program); !library.empty())
      start_measured(library, program, "program", invocation);
  if (off || !exists) return invocation.command;
  warn_of_foreign_launcher(invocation.command[0], program);

  std::vector<std::string> command = invocation.command;
  if (program.found_by_env && !is_shell(program)) {
    // Does what env would do, because env itself would be the measured image.
    command[0] = program.file.string();
    command.insert(command.begin(), program.interpreter.string());
  }
  const std::string name = program.loader.empty() ? invocation.command[0] : program.file.string();
  const std::string why = why_not_measurable(program);
  const fs::path library = why.empty() ? chosen_library(options, invocation, program) : fs::path();
  const std::string why_not_this_one = library.empty() ? std::string() : why_not_preloadable(program, library);
  if (!why.empty() || !why_not_this_one.empty()) {
    say_once(fmt::format("{} {}.", name, why.empty() ? why_not_this_one : why));
  } else if (!library.empty() && !can_be_listed(library)) {
    say_once(fmt::format("{} has a colon or a blank in its path, which LD_PRELOAD cannot carry.", library.string()));
  } else if (!library.empty()) {
    const std::string_view mode = launch_mode(options, program, invocation.command[0]);
    if (mode != "program") leave_note(note_through, invocation.command[0]);
    if (understood) tell_inlined_code(program, configuration);
    if (mode == "program") keep_functions(program, understood && configuration.verbose);
    start_measured(library, program, mode, invocation);
  }
  return command;
}

int exec(const ExecOptions& options, const Invocation& invocation) {
  if (invocation.command.empty()) {
    say("refrain exec: no program; usage: refrain exec [options] -- ./app ...");
    return exit_usage;
  }
  std::vector<std::string> command = invocation.command;
  // Whatever goes wrong with the measurement, the program runs.
  try {
    command = prepare(options, invocation);
  } catch (const std::exception& error) {
    say_once(fmt::format("{} cannot be examined: {}.", invocation.command[0], error.what()));
    forget_preload();
  }
  return become(command);
}

}  // namespace

void add_exec(Command root, Invocation& invocation) {
  auto options = std::make_shared<ExecOptions>();
  Command command = root.add("exec", "Become a program with the measurement preloaded (under any launcher)");
  command
      .option("--library", options->library,
              "runtime: openmpi, mpich, serial or a file; else found out from the program")
      .likely_one_of({"openmpi", "mpich", "serial"}, "NAME");
  command.option("--env", options->settings, "set an environment variable first").type("NAME=VALUE").repeated();
  command.footer(
      "LAUNCHER... refrain exec [options] -- ./app ARGUMENTS...\n"
      "Needed where `refrain run` cannot rewrite a command line: other launchers, application files, job scripts:\n"
      "  srun -n 64 refrain exec -- ./app in.dat\nThe exit status is that of the program; 127 and 126 as in the "
      "shell.");
  command.takes_program();
  command.when_chosen([command, options, &invocation] {
    invocation.command = command.program(invocation.command);
    invocation.exit_code = exec(*options, invocation);
  });
}

}  // namespace refrain::tools

/// `refrain doctor`: tells beforehand what will and will not work for a program on this machine. One line per finding.

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fmt/core.h>
#include <fstream>
#include <gnu/libc-version.h>
#include <iterator>
#include <linux/perf_event.h>
#include <memory>
#include <set>
#include <signal.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "config/configuration.hpp"
#include "offline/experiment/clean_text.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/launchers.hpp"
#include "tools/library_search.hpp"
#include "tools/mpi_coverage.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"
#include "unwind/proof.hpp"

namespace refrain::tools {
namespace {

/// Prints findings as they come and remembers whether one of them prevents a measurement.
class Findings {
 public:
  void ok(const std::string& text) { print("ok", text); }
  void warning(const std::string& text) { print("warning", text); }
  void cannot(const std::string& text) {
    print("cannot", text);
    possible_ = false;
  }
  bool possible() const { return possible_; }

 private:
  static void print(const char* verdict, const std::string& text) {
    show("{:<8} {}\n", verdict, experiment::clean_text(text));
  }
  bool possible_ = true;
};

std::string first_line(const char* file) {
  std::ifstream stream{file};
  std::string line;
  std::getline(stream, line);
  return line;
}

/// The value of `key` in a file of lines "key: value"; empty if there is none.
std::string value_in(const char* file, const std::string& key) {
  std::ifstream stream{file};
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(key)) {
      std::size_t at = line.find_first_not_of(" \t:", key.size());
      return at == std::string::npos ? "" : line.substr(at);
    }
  return {};
}

/// Whether a program of this kind can be measured at all.
bool examine_kind(const std::string& name, const Program& program, Findings& findings) {
  switch (program.kind) {
    case Program::Kind::Missing: findings.cannot(fmt::format("{} is not found", name)); return false;
    case Program::Kind::NotExecutable: findings.cannot(fmt::format("{} cannot be executed", name)); return false;
    case Program::Kind::Script:
      if (const std::string why = why_not_measurable(program); !why.empty())
        findings.cannot(fmt::format("{} {}", name, why));
      else if (is_shell(program))
        findings.ok(fmt::format(
            "{} is a script{}: launchers and programs that need MPI, started by it, are measured, each job by itself; "
            "what does not need MPI is not (write 'refrain exec -- ./app' there)",
            name, program.interpreter.empty() ? "" : " of " + program.interpreter.string()));
      else
        findings.ok(
            fmt::format("{} is a script of {}, which is measured itself, MPI loaded later from MPI_Init on; what it "
                        "starts is not (write 'refrain run -- mpirun ...' there)",
                        name, program.interpreter.string()));
      return false;
    case Program::Kind::Dynamic:
      findings.ok(fmt::format("{} is an x86-64 program and linked dynamically", program.file.string()));
      return true;
    default: findings.cannot(fmt::format("{} {}", program.file.string(), why_not_measurable(program))); return false;
  }
}

void examine_libraries(const Program& program, const Invocation& invocation, Findings& findings) {
  for (const NeededLibrary& library : program.libraries)
    if (library.file.empty()) findings.cannot(fmt::format("it needs {}, which is not found", library.name));
  RuntimeLibrary runtime = program.mpi.value_or(RuntimeLibrary::Serial);
  if (!program.mpi) {
    findings.ok(
        is_shell(program)
            ? "it is a shell: launchers and programs that need MPI, started by it, are measured, each job by itself"
            : "it does not need MPI itself: started without a launcher it is measured by itself, under one from "
              "MPI_Init on "
              "if it loads MPI (--library serial: each process by itself)");
  } else {
    auto needed = std::find_if(program.libraries.begin(), program.libraries.end(),
                               [](const NeededLibrary& library) { return mpi_of_library(library.name).has_value(); });
    findings.ok(fmt::format("it uses {} ({})", name_of(*program.mpi), needed->file.string()));
  }
  const auto file = find_runtime_library(invocation.executable, runtime);
  if (const std::string why = file ? why_not_preloadable(program, *file) : std::string(); !why.empty())
    findings.cannot(fmt::format("{} {}", program.file.string(), why));
  else if (file) findings.ok(fmt::format("runtime {}", file->string()));
  else findings.cannot(fmt::format("this copy of Refrain has no librefrain-{}.so", name_of(runtime)));
}

/// Sanitizers' shared runtimes refuse to work behind another library.
void examine_sanitizers(const Program& program, Findings& findings) {
  for (const std::filesystem::path& library : libraries_that_come_first(program))
    findings.ok(fmt::format("{} is preloaded in front of the runtime, as it demands", library.filename().string()));
}

/// The mpirun of another MPI starts every rank as a job of its own.
void examine_launcher(const Program& program, Findings& findings) {
  if (!program.mpi) return;
  LaunchLine line = parse_launch_line({"mpirun", "program"});
  if (inspect_program("mpirun").kind == Program::Kind::Missing) {
    findings.warning("no mpirun in PATH");
    return;
  }
  bool hydra = line.launcher == "hydra";
  if (hydra == (*program.mpi == RuntimeLibrary::Mpich))
    findings.ok(fmt::format("mpirun in PATH ({}) fits it", line.launcher));
  else
    findings.warning(
        fmt::format("mpirun in PATH belongs to another MPI ({}); start the program with mpirun.{} or mpiexec.{}",
                    line.launcher, name_of(*program.mpi), name_of(*program.mpi)));
}

void examine_symbols(const Program& program, Findings& findings) {
  const ElfImage& image = program.image;
  if (image.has_debug_info) findings.ok("it has debug information: functions, files and lines will be shown");
  else if (image.has_symbols)
    findings.warning("no debug information (-g): functions are shown without files and lines");
  else
    findings.warning(
        "stripped: only exported functions have names, others show as module+0x1234, unless its debug file is "
        "installed");
}

/// What is wrong with the unwind tables of a file; empty: its frames can be unwound.
std::string trouble_with_tables(const ElfImage& image, const unwind::UnwindProof& proof) {
  constexpr const char* consequence = "call paths end in it unless frame pointers help";
  if (!image.has_unwind_tables)
    return fmt::format("no unwind tables (.eh_frame): {}; compile with -fasynchronous-unwind-tables", consequence);
  if (!image.has_search_table)
    return fmt::format("its unwind tables have no search table (.eh_frame_hdr): {}; link without --no-eh-frame-hdr",
                       consequence);
  if (!proof.is_mapped) return fmt::format("its segments cannot be mapped: {}", consequence);
  // A part of a function that is split off (.cold) may need registers that only a call sets.
  if (proof.unwound == 0 || proof.unwound < proof.covered / 2)
    return fmt::format("only {} of {} functions in its unwind tables could be unwound: {}; please report this",
                       proof.unwound, proof.covered, consequence);
  return {};
}

/// Unwinds frames in the same way as when the program runs.
void examine_unwind_tables(const Program& program, Findings& findings) {
  const unwind::UnwindProof proof = unwind::prove_unwinding(program.file.c_str());
  const std::string trouble = trouble_with_tables(program.image, proof);
  if (trouble.empty())
    findings.ok(fmt::format(
        "it has unwind tables: call paths are complete, without frame pointers ({} of its functions were unwound)",
        proof.unwound));
  else findings.warning(trouble);
  for (const NeededLibrary& library : program.libraries) {
    const auto image = library.file.empty() ? std::nullopt : read_elf_image(library.file);
    if (!image) continue;
    const unwind::UnwindProof of_library = unwind::prove_unwinding(library.file.c_str());
    if (of_library.tried == 0 && of_library.is_mapped) continue;  // no code
    if (const std::string why = trouble_with_tables(*image, of_library); !why.empty())
      findings.warning(fmt::format("{}: {}", library.name, why));
  }
}

/// MPI functions that an image intercepts; empty if there are none or the image is MPI itself, which also defines the
/// PMPI names.
std::vector<std::string> intercepted(const ElfImage& image) {
  std::vector<std::string> names;
  for (const std::string& name : image.defined) {
    if (!is_mpi_function(name)) continue;
    if (name[0] == 'P' || name[0] == 'p') return {};
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// "MPI_Send", "MPI_Recv, MPI_Send and 12 others".
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > most)
    text += fmt::format(" and {} other{}", names.size() - most, names.size() == most + 1 ? "" : "s");
  return text;
}

/// Finds out whether MPI's libraries were left out when the program was linked: a linker that drops seemingly unneeded
/// libraries (--as-needed) may do so if a library that defines MPI functions precedes them, as Refrain's does when it
/// is linked by hand. Each rank would then run alone.
void examine_missing_functions(const Program& program, Findings& findings) {
  std::set<std::string> used, defined{program.image.defined.begin(), program.image.defined.end()};
  const auto use = [&](const ElfImage& image) {
    std::ranges::copy_if(image.undefined, std::inserter(used, used.end()), is_mpi_function);
  };
  use(program.image);
  for (const NeededLibrary& library : program.libraries) {
    const auto image = library.name.starts_with("librefrain-") ? std::nullopt : read_elf_image(library.file);
    if (!image) continue;
    use(*image);
    defined.insert(image->defined.begin(), image->defined.end());
  }
  std::vector<std::string> missing;
  std::ranges::set_difference(used, defined, std::back_inserter(missing));
  if (missing.empty()) return;
  const bool is_fortran =
      std::ranges::any_of(missing, [](const std::string& name) { return std::islower(name[1]) != 0; });
  findings.cannot(
      fmt::format("none of its libraries has {}: MPI's {}library was left out when it was linked; link it "
                  "again, with {}",
                  listed(missing), is_fortran ? "Fortran " : "", is_fortran ? "refrain-mpifort" : "refrain-mpicc"));
}

/// Other tools that sit between the program and MPI.
void examine_other_tools(const Program& program, Findings& findings) {
  constexpr const char* both = "both get all calls";
  if (const auto names = intercepted(program.image); !names.empty())
    findings.warning(
        fmt::format("the program itself intercepts MPI calls ({}), behind Refrain: {}", listed(names), both));
  for (const NeededLibrary& library : program.libraries) {
    if (library.name.starts_with("librefrain-")) {
      findings.ok("Refrain is linked into it: plain mpirun measures it too");
      continue;
    }
    const auto image = read_elf_image(library.file);
    if (!image) continue;
    if (const auto names = intercepted(*image); !names.empty())
      findings.warning(
          fmt::format("{} intercepts MPI calls too ({}), behind Refrain: {}", library.name, listed(names), both));
  }
  const char* preload = std::getenv("LD_PRELOAD");
  if (!preload || !*preload) return;
  findings.warning(fmt::format("LD_PRELOAD is set ({}): it is kept, behind Refrain", preload));
  std::string list = preload;
  std::replace(list.begin(), list.end(), ' ', ':');
  std::istringstream stream{list};
  for (std::string file; std::getline(stream, file, ':');) {
    const auto image = file.empty() ? std::nullopt : read_elf_image(find_library(file));
    if (!image) continue;
    if (const auto names = intercepted(*image); !names.empty())
      findings.warning(fmt::format("{} intercepts MPI calls too ({}): {}", file, listed(names), both));
  }
}

/// Tries a task-clock event that counts in user mode only, like those of the sampler.
void examine_task_clock(Findings& findings) {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = 1'000'000'000;
  attributes.disabled = attributes.exclude_kernel = attributes.exclude_hv = 1;
  const long descriptor = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (descriptor >= 0) {
    close(static_cast<int>(descriptor));
    findings.ok("samples come from the task clock of each thread: short phases of work are seen as they are");
    return;
  }
  const char* reason = std::strerror(errno);
  const std::string level = first_line("/proc/sys/kernel/perf_event_paranoid");
  findings.warning(
      fmt::format("no task clock (perf_event_open: {}; kernel.perf_event_paranoid is {}, may be 2 at most; containers "
                  "often forbid it): samples come at the kernel's tick, work of a few milliseconds after waits is seen "
                  "too often or too rarely",
                  reason, level.empty() ? "not there" : level));
}

/// Tries a timer on this thread's CPU clock, like those of the sampler.
void examine_timers(Findings& findings) {
  sigevent event = {};
  event.sigev_notify = SIGEV_NONE;
  timer_t timer;
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0) {
    timer_delete(timer);
    findings.ok("timers on the CPU clock can be made");
  } else {
    findings.warning(
        "no timer on the CPU clock can be made (seccomp filter or limit): MPI calls are recorded, user code is not "
        "sampled");
  }
  rlimit limit;
  constexpr rlim_t enough_signals = 1024;
  if (getrlimit(RLIMIT_SIGPENDING, &limit) == 0 && limit.rlim_cur < enough_signals)
    findings.warning(fmt::format("only {} pending signals (ulimit -i): each thread needs one", limit.rlim_cur));
  if (value_in("/proc/self/status", "Seccomp:") == "2")
    findings.ok("a seccomp filter is in force (container); ptrace is not needed, perf events make samples better");
}

void examine_machine(Findings& findings) {
  constexpr rlim_t little_memory = rlim_t{1} << 30;
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < little_memory)
    findings.warning(
        fmt::format("address space limited to {} MiB (ulimit -v): Refrain reserves up to REFRAIN_MEMORY per thread",
                    limit.rlim_cur >> 20));
  // Same rule as platform::start_clock, which also checks whether the kernel's clock is read without entering the
  // kernel.
  const std::string source = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  const std::string flags = " " + value_in("/proc/cpuinfo", "flags") + " ";
  const bool is_invariant =
      flags.find(" constant_tsc ") != std::string::npos && flags.find(" nonstop_tsc ") != std::string::npos;
  if (source == "tsc" || (is_invariant && (source == "kvm-clock" || source == "hyperv_clocksource_tsc_page")))
    findings.ok(fmt::format("the time stamp counter is the clock (that of the kernel: {})", source));
  else
    findings.warning(
        fmt::format("the kernel does not compute its clock from the time stamp counter (but from {}): each MPI call "
                    "costs more, as the kernel is asked for the time",
                    source.empty() ? "what is not known" : source));
  int major = 0, minor = 0;
  std::sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor);
  if (major > 2 || minor >= 35)
    findings.ok(fmt::format("glibc {} finds unwind tables without locks", gnu_get_libc_version()));
  else
    findings.warning(fmt::format("glibc {} is older than 2.35: unwind tables are found by Refrain's own map",
                                 gnu_get_libc_version()));
}

void examine_settings(Findings& findings) {
  config::Configuration configuration;
  config::ConfigurationError error;
  if (!config::read_configuration(configuration, error)) {
    findings.cannot(error.line);
    return;
  }
  if (!configuration.enable) findings.cannot("REFRAIN_ENABLE is off");
  std::filesystem::path place = configuration.experiment_directory;
  std::error_code ignored;
  if (!place.empty() && std::filesystem::exists(place, ignored))
    findings.cannot(fmt::format("{} exists already and is never overwritten", place.string()));
  std::filesystem::path parent = place.parent_path().empty() ? "." : place.parent_path();
  if (access(parent.c_str(), W_OK) != 0)
    findings.cannot(fmt::format("{} is not writable: set REFRAIN_EXPERIMENT_DIRECTORY",
                                std::filesystem::absolute(parent, ignored).lexically_normal().string()));
}

int doctor(const std::string& name, const Invocation& invocation) {
  Findings findings;
  Program program = inspect_program(name);
  if (examine_kind(name, program, findings)) {
    examine_libraries(program, invocation, findings);
    examine_sanitizers(program, findings);
    examine_missing_functions(program, findings);
    examine_launcher(program, findings);
    examine_symbols(program, findings);
    examine_unwind_tables(program, findings);
    examine_other_tools(program, findings);
  }
  examine_task_clock(findings);
  examine_timers(findings);
  examine_machine(findings);
  examine_settings(findings);
  return findings.possible() ? exit_ok : exit_usage;
}

}  // namespace

void add_doctor(Command root, Invocation& invocation) {
  Command command = root.add("doctor", "Say what will and will not work for a program, before it runs");
  auto name = std::make_shared<std::string>();
  command.option("PROGRAM", *name, "the program, as it would be started").type("PROGRAM").required();
  command.footer("Exit code 0: it can be measured, perhaps with warnings; 1: it cannot.");
  command.when_chosen([name, &invocation] { invocation.exit_code = doctor(*name, invocation); });
}

}  // namespace refrain::tools

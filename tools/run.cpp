/// `refrain run`: runs a launcher's command line with `refrain exec` before each of its programs. The launcher itself
/// is never measured. It runs as a child of this process, which ends as the launcher ends, after one line on stderr
/// about the results.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string_view>
#include <unistd.h>

#include "config/configuration.hpp"
#include "offline/findings/sentence.hpp"
#include "offline/report/found.hpp"
#include "offline/run/loop_pools.hpp"
#include "tools/console.hpp"
#include "tools/exemplars.hpp"
#include "tools/exit_codes.hpp"
#include "tools/held_signals.hpp"
#include "tools/keep_names.hpp"
#include "tools/launchers.hpp"
#include "tools/progress_line.hpp"
#include "tools/run_notes.hpp"
#include "tools/start.hpp"
#include "tools/subcommands.hpp"
#include "tools/supervise.hpp"

namespace refrain::tools {
namespace {

struct RunOptions {
  std::string experiment;
  std::string frequency;
  std::string library;
  bool dry_run = false;
};

/// The REFRAIN_* settings in force, as options of `refrain exec`: launchers do not pass the environment to other nodes.
std::vector<std::string> settings_in_force() {
  std::vector<std::string> settings;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view setting{*entry};
    if (setting.starts_with("REFRAIN_") && !setting.starts_with("REFRAIN_INTERNAL_"))
      settings.insert(settings.end(), {"--env", std::string(setting)});
  }
  return settings;
}

/// No user waits longer than this at the end of a job.
constexpr std::chrono::seconds most_for_names(10), most_when_stopped(2);

void say_interrupted(const std::string& experiment) {
  say("refrain: not analysed, as it was interrupted; refrain analyze {} does it", quoted({experiment}));
}

/// Searches the experiment, keeps the findings and the division of the iterations' time in it for later reports, and
/// prints what costs most. A signal that asks this process to end ends only the search.
void analyse_and_tell(const std::string& experiment) {
  constexpr std::size_t most = 3;
  const HeldSignals held;
  ProgressLine line;
  bool is_analysed = false;
  try {
    const report::Found found = report::search_some(experiment, [&](double share) {
      held.check();
      line.searching()(share);
    });
    line.end();
    for (std::size_t i = 0; i < std::min(found.findings.size(), most); ++i)
      say("refrain: {}", line_of(found.findings[i]));
    held.check();
    const auto opened = experiment::Experiment::open(experiment);
    keep_found(*opened, found, "", REFRAIN_VERSION);
    is_analysed = true;
    keep_pools(*opened, run::Asked::No, [&](double share) {
      held.check();
      line.show([&] { return fmt::format("dividing the time of iterations: {:.0f} %", 100 * share); });
    });
    line.end();
  } catch (const Interrupted&) {
    line.end();
    if (!is_analysed) say_interrupted(experiment);
  } catch (const std::exception&) {
    // The exit code of the program stands. Reports search themselves, and say what is wrong.
  }
}

/// Waits for the command, keeps the names of its functions, searches its experiments, and prints what costs most and
/// where the results are.
int run_and_tell(const std::vector<std::string>& command, std::optional<RunNotes>& notes) {
  const CommandEnd end = run_and_wait(command);
  if (end.started) {
    // mpirun exits with more than 128 after a signal told it to end: the user does not want to wait then.
    bool was_stopped = end.signal != 0 || end.exit_code > 128;
    // Errors here must not change how the command ended.
    try {
      const std::string last = was_stopped ? std::string() : notes->experiment();
      NamesEnd names_of_last = NamesEnd::Known;
      for (const std::string& experiment : notes->experiments()) {
        const NamesEnd names = keep_names(experiment, was_stopped ? most_when_stopped : most_for_names);
        was_stopped |= names == NamesEnd::Interrupted;
        if (experiment == last) names_of_last = names;
      }
      // Without names there is no search: reports look the names up, search, and say what is wrong.
      if (!last.empty() && was_stopped) say_interrupted(last);
      else if (!last.empty() && names_of_last == NamesEnd::Known) analyse_and_tell(last);
      if (const std::string line = notes->left_behind(); !line.empty()) say("refrain: {}", line);
      if (const std::string line = notes->line(); !line.empty()) say("refrain: {}", line);
    } catch (const std::exception& error) {
      say("refrain: the results cannot be examined: {}", error.what());
    }
  }
  notes.reset();  // no destructors run if a signal ends this process
  return end_alike(end);
}

int run(const RunOptions& options, const Invocation& invocation) {
  const std::vector<std::string>& command = invocation.command;
  if (command.empty()) {
    say("refrain run: no command; usage: refrain run [options] -- mpirun -n 4 ./app ...");
    return exit_usage;
  }
  if (!options.experiment.empty())
    setenv("REFRAIN_EXPERIMENT_DIRECTORY", std::filesystem::absolute(options.experiment).c_str(), 1);
  if (!options.frequency.empty()) setenv("REFRAIN_SAMPLING_FREQUENCY", options.frequency.c_str(), 1);

  forget_preload();
  std::vector<std::string> started = command;
  std::optional<RunNotes> notes;
  config::Configuration configuration;
  config::ConfigurationError error;
  LaunchLine line = parse_launch_line(command);
  if (const std::string fault = choose_exemplars(); !fault.empty()) {
    say("refrain: {}. The program runs unmeasured.", fault);
    setenv("REFRAIN_ENABLE", "off", 1);
  } else if (!config::read_configuration(configuration, error)) {
    // Printed once here; ranks with the runtime linked into them need not repeat it.
    say("{}", error.line);
    setenv("REFRAIN_ENABLE", "off", 1);
  } else if (!line.refusal.empty()) {
    say("refrain: {}. The program runs unmeasured.", line.refusal);
  } else if (configuration.enable) {
    std::vector<std::string> insertion{invocation.executable, "exec"};
    if (!options.library.empty()) insertion.insert(insertion.end(), {"--library", options.library});
    for (std::string& word : settings_in_force()) insertion.push_back(std::move(word));
    // A nested run leaves the last line to the outer one; under a launcher only the first rank prints it.
    const bool is_below = std::getenv(notes_variable) != nullptr;
    if (!options.dry_run && !is_below && is_first_rank() && !notes.emplace().file().empty())
      setenv(notes_variable, notes->file().c_str(), 1);
    if (const char* file = std::getenv(notes_variable); file && !options.dry_run)
      insertion.insert(insertion.end(), {"--env", fmt::format("{}={}", notes_variable, file)});
    insertion.push_back("--");
    started = with_insertion(command, line, insertion);
  }
  if (options.dry_run) {
    show("{}\n", quoted(started));
    return exit_ok;
  }
  return notes ? run_and_tell(started, notes) : become(started);
}

}  // namespace

void add_run(Command root, Invocation& invocation) {
  auto options = std::make_shared<RunOptions>();
  Command command = root.add("run", "Run a command and measure its ranks");
  command
      .option("--experiment", options->experiment, "directory that receives the results (REFRAIN_EXPERIMENT_DIRECTORY)")
      .type("DIR");
  command.option("--frequency", options->frequency, "samples per second and thread (REFRAIN_SAMPLING_FREQUENCY)")
      .type("HZ");
  command
      .option("--library", options->library,
              "runtime: openmpi, mpich, serial or a file; else found out for each program")
      .likely_one_of({"openmpi", "mpich", "serial"}, "NAME");
  command.flag("--dry-run", options->dry_run, "print the command that would be started");
  command.footer(
      "refrain run [options] -- LAUNCHER... ./app ARGUMENTS...\n"
      "The exit status is that of the command. At the end one line says where the results are, or why there are none; "
      "before it up to three say what costs most.\n"
      "Settings of the measurement: refrain info config.");
  command.takes_program();
  command.when_chosen([command, options, &invocation] {
    invocation.command = command.program(invocation.command);
    try {
      invocation.exit_code = run(*options, invocation);
    } catch (const std::exception& error) {  // the command has not been started, and must be
      say("refrain: {}. The program runs unmeasured.", error.what());
      forget_preload();
      invocation.exit_code = become(invocation.command);
    }
  });
}

}  // namespace refrain::tools

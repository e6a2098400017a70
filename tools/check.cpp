/// `refrain check`: tells whether a run is worse than others, or than properties allow. For continuous integration.

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <set>

#include "offline/analysis/run_series.hpp"
#include "offline/database/evaluation.hpp"
#include "offline/experiment/clean_text.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/print_tables.hpp"
#include "offline/symbols/experiment_names.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/load_run.hpp"
#include "tools/property_commands.hpp"
#include "tools/run_efficiency.hpp"
#include "tools/subcommands.hpp"

namespace refrain::tools {
namespace {

using experiment::xml_text;

constexpr const char* check_name = "check";

struct CheckRequest {
  std::string experiment, format = "text", basis;
  std::vector<std::string> against, files, efficiencies, regions;
  double tolerance_percent = 3, threshold = 0.05;
  bool all = false;  ///< show every comparison
};

std::string seconds(double value) {
  const double size = std::abs(value);
  return size >= 1      ? fmt::format("{:.3f} s", value)
         : size >= 1e-3 ? fmt::format("{:.3f} ms", value * 1e3)
                        : fmt::format("{:.3f} us", value * 1e6);
}

/// A factor of the run, or of a region in it, compared with its bound.
struct EfficiencyCheck {
  EfficiencyBound bound;
  std::string region;  ///< empty: the run
  analysis::Measured found;
  bool fails = false;           ///< even with two standard errors in its favour
  bool cannot_be_told = false;  ///< the bound is within two standard errors
};

struct Outcome {
  std::vector<EfficiencyCheck> efficiencies;
  std::vector<analysis::RunDifference> comparisons;
  std::optional<database::Evaluation> evaluation;
  std::vector<std::string> notes;
  std::vector<std::string> not_checked;  ///< requested, but not compared or evaluated
  std::vector<std::string> uncertain;    ///< compared, but the error is larger than the tolerance
  std::size_t properties = 0;            ///< number of properties that were evaluated
};

std::string name_of_case(const EfficiencyCheck& of) {
  return fmt::format("{}{}", of.bound.factor->words, of.region.empty() ? "" : " of " + of.region);
}

std::string line_of(const EfficiencyCheck& of) {
  return fmt::format("{} is {:.3f}{}, and is to be at {} {}", name_of_case(of), of.found.value,
                     of.found.error > 0 ? fmt::format(" +- {:.3f}", of.found.error) : "",
                     of.bound.is_least ? "least" : "most", of.bound.value);
}

std::size_t failed_efficiencies(const Outcome& outcome) {
  return static_cast<std::size_t>(std::ranges::count_if(outcome.efficiencies, &EfficiencyCheck::fails));
}

std::vector<const database::Found*> problems(const Outcome& outcome, double threshold) {
  std::vector<const database::Found*> found;
  if (outcome.evaluation)
    for (const database::Found& of : outcome.evaluation->found)
      if (of.severity > threshold) found.push_back(&of);
  return found;
}

std::string what(const analysis::RunDifference& of) {
  if (of.loop.empty()) return of.path.empty() ? "the run" : of.path;
  return of.path.empty() ? fmt::format("loop {}", of.loop) : of.path;
}

/// Names the loop too, since the same path may be in several loops.
std::string name_of_case(const analysis::RunDifference& of) {
  return of.loop.empty() || of.path.empty() ? what(of) : fmt::format("loop {}: {}", of.loop, of.path);
}

std::string line_of(const analysis::RunDifference& of) {
  const std::string of_before =
      of.before > 0 ? fmt::format(" ({:+.1f} %)", 100 * (of.now / of.before - 1)) : std::string();
  const std::string now = fmt::format("{}: {} {}, before {}{}", what(of), seconds(of.now),
                                      of.loop.empty() ? "in all" : "per iteration", seconds(of.before), of_before),
                    whole = of.loop.empty() ? "the run" : "loop " + of.loop;
  // If the times of iterations drift throughout the run, the bounds of the interval are meaningless.
  if (of.high - of.low > of.before + of.now) return fmt::format("{}; the 95 % interval is wider than that", now);
  return fmt::format("{}; {} to {} more (95 %), {:.1f} % of {}", now, seconds(of.low), seconds(of.high),
                     100 * of.of_loop, whole);
}

const char* verdict(const analysis::RunDifference& of) {
  return of.is_slower ? "slower" : of.cannot_be_told ? "cannot be told" : of.is_significant ? "differs" : "as before";
}

struct Run {
  std::int32_t processes = 0;
  bool off_cpu_is_told_apart = true;
  std::vector<analysis::RunSeries> series;

  /// Merges the time off the CPU of a run without loops into one series. False: it is one already, or there is none.
  bool fold_off_cpu() {
    analysis::RunSeries all;
    std::erase_if(series, [&](const analysis::RunSeries& of) {
      if (!of.loop.empty() || !run::is_off_cpu(of.path)) return false;
      const double seconds = all.mean.value + of.mean.value, error = std::hypot(all.mean.error, of.mean.error);
      all = of;
      all.mean.value = all.lower.value = seconds;
      all.mean.error = all.lower.error = all.sampling_s = error;
      return true;
    });
    if (all.path.empty()) return false;
    const bool is_folded = all.path != run::not_on_cpu_name;
    all.path = run::not_on_cpu_name;
    series.push_back(std::move(all));
    return is_folded;
  }
  bool has_loop(const std::string& name) const {
    return std::ranges::any_of(series, [&](const auto& of) { return of.loop == name; });
  }
};

Run read_run(const std::string& directory, double least_share) {
  const auto experiment = experiment::Experiment::open(directory);
  analysis::Symbolizer symbolizer;
  symbols::use_names(*experiment, symbolizer);
  const analysis::CallTree tree = analysis::build_call_tree(*experiment, symbolizer);
  Run run{experiment->definitions().ranks_expected, tree.totals.off_cpu_is_told_apart,
          series_of_run(*experiment, tree, least_share)};
  tell_damage(check_name, *experiment->damage_log());
  return run;
}

/// Why the loop was not compared across all runs; empty: it was.
std::string why_not(const std::string& loop, const Run& now, const std::vector<Run>& before, const Outcome& outcome) {
  const auto is_it = [&](const auto& comparison) { return comparison.loop == loop && comparison.path.empty(); };
  if (std::ranges::any_of(outcome.comparisons, is_it)) return {};
  if (loop.empty())
    return fmt::format(
        "no loop is marked, so {} runs to compare with are needed: nothing is known of errors within runs",
        analysis::fewest_runs);
  const bool everywhere =
      now.has_loop(loop) && std::ranges::all_of(before, [&](const Run& run) { return run.has_loop(loop); });
  return everywhere ? fmt::format("loop {} was not compared: it needs {} iterations in all runs", loop,
                                  analysis::fewest_iterations)
                    : fmt::format("loop {} was not compared: not all runs have it", loop);
}

/// Reports loops, and runs without one, that may or may not be slower than the tolerance. That is not a failure, since
/// noise would then break builds. Call paths are only counted, since their loop was compared.
void tell_uncertain(Outcome& outcome, double tolerance_percent) {
  std::size_t paths = 0;
  for (const analysis::RunDifference& of : outcome.comparisons) {
    if (!of.cannot_be_told || of.by_means) continue;
    if (of.path.empty())
      outcome.uncertain.push_back(
          fmt::format("{}; wider than the tolerance of {} %: more iterations, a higher "
                      "--tolerance or {} runs with --against decide it",
                      line_of(of), tolerance_percent, analysis::fewest_runs));
    else ++paths;
  }
  if (paths > 0)
    outcome.uncertain.push_back(fmt::format(
        "{} call path{}: the 95 % interval{} wider than the tolerance of {} % of "
        "the loop; --all shows {}",
        paths, paths == 1 ? "" : "s", paths == 1 ? " is" : "s are", tolerance_percent, paths == 1 ? "it" : "them"));
}

void compare(const CheckRequest& request, Outcome& outcome) {
  if (request.against.empty()) return;
  const double tolerance = request.tolerance_percent / 100;
  constexpr double part = 0.1;  // earlier runs leave out paths below this part of the tolerance
  Run now = read_run(request.experiment, tolerance);
  std::vector<Run> before;
  for (const std::string& other : request.against) {
    before.push_back(read_run(other, part * tolerance));
    if (before.back().processes != now.processes) {
      outcome.not_checked.push_back(fmt::format("{} has {} processes and {} has {}: their times are not compared",
                                                request.experiment, now.processes, other, before.back().processes));
      return;
    }
  }
  if (!now.off_cpu_is_told_apart || !std::ranges::all_of(before, &Run::off_cpu_is_told_apart)) {
    bool is_folded = now.fold_off_cpu();
    for (Run& run : before) is_folded |= run.fold_off_cpu();
    if (is_folded)
      outcome.notes.emplace_back(
          "time off the CPU is compared as a whole: not all runs tell waiting for a core from being blocked");
  }
  std::vector<std::vector<analysis::RunSeries>> series;
  for (const Run& run : before) series.push_back(run.series);
  outcome.comparisons = compare_runs(now.series, series, {.tolerance = tolerance});
  std::set<std::string> loops;
  for (const auto& of : now.series) loops.insert(of.loop);
  for (const auto& of : before.front().series) loops.insert(of.loop);
  for (const std::string& loop : loops)
    if (std::string why = why_not(loop, now, before, outcome); !why.empty() && (!loop.empty() || loops.size() == 1))
      outcome.not_checked.push_back(std::move(why));
  for (const auto& of : now.series) {
    const auto is_it = [&](const auto& comparison) { return comparison.loop == of.loop && comparison.path == of.path; };
    if (!of.path.empty() && now.has_loop(of.loop) && std::ranges::none_of(outcome.comparisons, is_it) &&
        !outcome.comparisons.empty())
      outcome.notes.push_back(fmt::format("{} is new: {} has {} of it", of.path,
                                          of.loop.empty() ? "the run" : "an iteration of " + of.loop,
                                          seconds(of.mean.value)));
  }
  tell_uncertain(outcome, request.tolerance_percent);
  if (before.size() < analysis::fewest_runs && !outcome.comparisons.empty())
    outcome.notes.push_back(
        fmt::format("with fewer than {} runs to compare with it is not known how much runs differ by chance; --against "
                    "may be given several times",
                    analysis::fewest_runs));
}

void evaluate(const CheckRequest& request, Outcome& outcome, const properties::Program& program) {
  if (request.files.empty()) return;
  const auto connection = database::Connection::open(":memory:", true);
  const Loaded loaded =
      load_experiment(request.experiment, *connection, *program.model, "", "", [](const std::string&) {});
  outcome.notes.insert(outcome.notes.end(), loaded.notes.begin(), loaded.notes.end());
  database::Store store(*connection, *program.model);
  database::EvaluationRequest evaluation;
  evaluation.run = store.runs().at(0);
  evaluation.basis = request.basis;
  for (const auto& property : program.properties)
    if (std::ranges::find(request.files, property.source) != request.files.end())
      evaluation.only.push_back(property.name);
  outcome.properties = evaluation.only.size();
  if (!evaluation.only.empty()) outcome.evaluation = database::evaluate(*connection, program, evaluation);
  if (outcome.evaluation)
    for (const auto& of : outcome.evaluation->not_evaluated)
      outcome.not_checked.push_back(fmt::format("{} was not evaluated: {}", of.name, of.why));
}

/// Checks one bound, for the run or a region in it.
void check_efficiency(const std::string& bound, const RunEfficiency& run, Outcome& outcome) {
  EfficiencyCheck check{*parse_efficiency_bound(bound), run.region, {}};
  const auto found = run.efficiency ? check.bound.factor->of(*run.efficiency) : std::nullopt;
  if (!found) {
    const bool is_of_waits = run.efficiency && !run.why_no_waits.empty();
    outcome.not_checked.push_back(fmt::format("{}{}: not known{}", bound, run.region.empty() ? "" : " of " + run.region,
                                              is_of_waits ? ", as " + run.why_no_waits : ""));
    return;
  }
  check.found = *found;
  constexpr double certain = 2;
  const double missing = check.bound.is_least ? check.bound.value - found->value : found->value - check.bound.value;
  check.fails = missing > certain * found->error;
  check.cannot_be_told = !check.fails && found->error > 0 && missing > -certain * found->error;
  if (check.cannot_be_told) outcome.uncertain.push_back(line_of(check));
  outcome.efficiencies.push_back(check);
}

void check_efficiencies(const CheckRequest& request, Outcome& outcome) {
  if (request.efficiencies.empty()) return;
  const std::vector<std::string> run{""};
  const std::vector<RunEfficiency> all =
      run_efficiencies(check_name, request.experiment, request.regions.empty() ? run : request.regions);
  if (const auto ranks = all[0].efficiency ? static_cast<std::int64_t>(all[0].efficiency->processes) : 0;
      ranks > 0 && ranks < all[0].processes)
    outcome.uncertain.push_back(
        fmt::format("efficiencies are of {} of {} ranks; nothing is known of the others", ranks, all[0].processes));
  for (const RunEfficiency& of : all)
    for (const std::string& bound : request.efficiencies) check_efficiency(bound, of, outcome);
}

std::string name_of_case(const database::Found& of, const database::Evaluation& evaluation) {
  return fmt::format("{} of {}", of.property->name, context_text(of, evaluation));
}

std::string line_of(const database::Found& of, const database::Evaluation& evaluation) {
  return fmt::format("{}: {:.2f} % of the time of {}", name_of_case(of, evaluation), 100 * of.severity,
                     evaluation.basis);
}

/// The slower places, one comparison for each loop and call path: that of the faster half, or that of the means if only
/// the means show the difference.
std::vector<const analysis::RunDifference*> slower(const Outcome& outcome) {
  std::vector<const analysis::RunDifference*> all;
  for (const analysis::RunDifference& of : outcome.comparisons) {
    const auto is_there = [&](const analysis::RunDifference* other) {
      return other->loop == of.loop && other->path == of.path;
    };
    if (of.is_slower && std::ranges::none_of(all, is_there)) all.push_back(&of);
  }
  return all;
}

int exit_code_of(const Outcome& outcome, double threshold) {
  if (!slower(outcome).empty() || !problems(outcome, threshold).empty() || failed_efficiencies(outcome) > 0)
    return exit_failed_check;
  return outcome.not_checked.empty() ? exit_ok : exit_usage;
}

void print_text(const Outcome& outcome, const CheckRequest& request) {
  for (const analysis::RunDifference* of : slower(outcome))
    show("slower: {}{}\n", line_of(*of), of->by_means ? "; on average, most iterations are not" : "");
  for (const database::Found* of : problems(outcome, request.threshold))
    show("property: {}\n", line_of(*of, *outcome.evaluation));
  for (const EfficiencyCheck& of : outcome.efficiencies)
    if (of.fails || (request.all && !of.cannot_be_told)) show("efficiency: {}\n", line_of(of));
  if (request.all)
    for (const analysis::RunDifference& of : outcome.comparisons)
      if (!of.is_slower && !of.by_means) show("{}: {}\n", verdict(of), line_of(of));
  for (const std::string& of : outcome.uncertain) show("cannot be told: {}\n", of);
  for (const std::string& why : outcome.not_checked) show("not checked: {}\n", why);
  for (const std::string& note : outcome.notes) show("note: {}\n", note);
  const std::size_t compared = outcome.comparisons.size(), failures = slower(outcome).size() +
                                                                      problems(outcome, request.threshold).size() +
                                                                      failed_efficiencies(outcome);
  show("{}: {} comparison{}, {} propert{}, {}\n", request.experiment, compared, compared == 1 ? "" : "s",
       outcome.properties, outcome.properties == 1 ? "y" : "ies",
       failures > 0 ? fmt::format("{} failed", failures)
       : outcome.not_checked.empty()
           ? (outcome.uncertain.empty() ? "nothing is worse" : "nothing is worse as far as it can be told")
           : "nothing that was checked is worse");
}

void print_json(const Outcome& outcome, const CheckRequest& request) {
  using report::columns;
  const auto problems_found = problems(outcome, request.threshold);
  const std::vector<report::Table> tables{
      object_of("", columns("experiment, against, tolerance, threshold, passed"),
                {{request.experiment, request.against, request.tolerance_percent / 100, request.threshold,
                  exit_code_of(outcome, request.threshold) == exit_ok}}),
      {"comparisons",
       columns("loop, path, by, before_s, now_s, standard_error_s, difference_low_s, difference_high_s, share_of_loop, "
               "p, significant, slower, cannot_be_told"),
       report::rows_of(outcome.comparisons,
                       [](const analysis::RunDifference& of) -> report::Row {
                         return {{of.loop, of.path, of.by_means ? "mean" : "faster_half", of.before, of.now, of.error,
                                  of.low, of.high, of.of_loop, of.p, of.is_significant, of.is_slower,
                                  of.cannot_be_told}};
                       })},
      {"properties", columns("name, context, severity, confidence"),
       report::rows_of(problems_found,
                       [](const database::Found* of) -> report::Row {
                         return {{of->property->name, of->context, of->severity, of->confidence}};
                       })},
      {"efficiencies", columns("factor, region, value, standard_error, bound, is_least, failed, cannot_be_told"),
       report::rows_of(outcome.efficiencies,
                       [](const EfficiencyCheck& of) -> report::Row {
                         return {{of.bound.factor->name, of.region, of.found.value, of.found.error, of.bound.value,
                                  of.bound.is_least, of.fails, of.cannot_be_told}};
                       })},
      object_of("", columns("not_checked, cannot_be_told, notes"),
                {{outcome.not_checked, outcome.uncertain, outcome.notes}})};
  print_tables(tables, report::Format::Json, {}, write_to_stdout);
}

struct JunitCase {
  std::string name, failure, skipped;  ///< empty: did not fail, was not skipped
};

/// A case for each compared loop and call path, each efficiency bound, and each property that fails.
std::vector<JunitCase> junit_cases(const Outcome& outcome, const CheckRequest& request) {
  std::vector<JunitCase> cases;
  std::set<std::pair<std::string, std::string>> places;
  const auto failed = slower(outcome);
  for (const analysis::RunDifference& of : outcome.comparisons) {
    if (!places.emplace(of.loop, of.path).second) continue;
    const auto at = std::ranges::find_if(
        failed, [&](const analysis::RunDifference* other) { return other->loop == of.loop && other->path == of.path; });
    JunitCase& made = cases.emplace_back(JunitCase{name_of_case(of), {}, {}});
    if (at != failed.end()) made.failure = line_of(**at);
    else if (of.cannot_be_told) made.skipped = "cannot be told: " + line_of(of);
  }
  for (const EfficiencyCheck& of : outcome.efficiencies)
    cases.push_back(
        {name_of_case(of), of.fails ? line_of(of) : "", of.cannot_be_told ? "cannot be told: " + line_of(of) : ""});
  for (const database::Found* of : problems(outcome, request.threshold))
    cases.push_back({name_of_case(*of, *outcome.evaluation), line_of(*of, *outcome.evaluation), {}});
  return cases;
}

void print_junit(const Outcome& outcome, const CheckRequest& request) {
  const std::vector<JunitCase> cases = junit_cases(outcome, request);
  const auto count = [&](auto member) {
    return std::ranges::count_if(cases, [&](const JunitCase& of) { return !(of.*member).empty(); });
  };
  show(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"refrain check\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
      cases.size() + outcome.not_checked.size(), count(&JunitCase::failure), outcome.not_checked.size(),
      count(&JunitCase::skipped));
  for (const JunitCase& of : cases) {
    show("<testcase classname=\"{}\" name=\"{}\"", xml_text(request.experiment), xml_text(of.name));
    if (!of.failure.empty()) show("><failure message=\"{}\"/></testcase>\n", xml_text(of.failure));
    else if (!of.skipped.empty()) show("><skipped message=\"{}\"/></testcase>\n", xml_text(of.skipped));
    else show("/>\n");
  }
  for (const std::string& why : outcome.not_checked)
    show("<testcase classname=\"{}\" name=\"{}\"><error message=\"not checked\"/></testcase>\n",
         xml_text(request.experiment), xml_text(why));
  for (const std::string& of : outcome.uncertain) show("<system-out>cannot be told: {}</system-out>\n", xml_text(of));
  for (const std::string& note : outcome.notes) show("<system-out>{}</system-out>\n", xml_text(note));
  show("</testsuite>\n</testsuites>\n");
}

int run(const CheckRequest& request) {
  if (!request.regions.empty() && request.efficiencies.empty())
    return complain(check_name, exit_usage, "--region requires --efficiency BOUND: it says what the bounds are of");
  if (request.against.empty() && request.files.empty() && request.efficiencies.empty())
    return complain(
        check_name, exit_usage,
        "nothing to check: --against EXPERIMENT, --properties FILE, --efficiency BOUND, or several of them");
  const auto program = read_specifications(request.files);
  if (!program) return exit_usage;
  Outcome outcome;
  compare(request, outcome);
  evaluate(request, outcome, *program);
  check_efficiencies(request, outcome);
  if (request.format == "json") print_json(outcome, request);
  else if (request.format == "junit") print_junit(outcome, request);
  else print_text(outcome, request);
  return exit_code_of(outcome, request.threshold);
}

}  // namespace

void add_check(Command root, Invocation& invocation) {
  auto request = std::make_shared<CheckRequest>();
  Command command =
      root.add("check", "Say whether a run is slower than others, or has properties that it must not have");
  command.option("experiment", request->experiment, "Experiment directory").type("EXPERIMENT").required();
  command.option("--against", request->against, "A run to compare with; may be repeated").type("EXPERIMENT").repeated();
  command.option("--tolerance", request->tolerance_percent, "Percent of a loop's time by which anything may be slower")
      .type("PERCENT")
      .shows_default();
  command.option("--properties", request->files, "Properties that must not hold above the threshold")
      .type("FILE")
      .repeated();
  command.option("--threshold", request->threshold, "Severity above which a property is a failure")
      .type("S")
      .shows_default();
  command.option("--basis", request->basis, "The region whose time severities are shares of (default: main)")
      .type("REGION");
  command
      .option("--efficiency", request->efficiencies,
              "A bound on an efficiency of the run, as in 'parallel>=0.8'; may be repeated")
      .type("BOUND")
      .repeated()
      .check(wrong_as_efficiency_bound);
  command
      .option("--region", request->regions,
              "A loop, marked region or function that these bounds hold for, instead of the run; may be repeated")
      .type("NAME")
      .repeated();
  command.flag("--all", request->all, "Show every comparison, with its confidence interval");
  command.option("--format", request->format, "How to print").one_of({"text", "json", "junit"}).shows_default();
  command.footer(
      "Exit status: 0 nothing is worse as far as it can be told, 3 something is, 1 wrong usage, or a part of what was\n"
      "asked for was not checked, 2 an experiment that cannot be read.");
  command.when_chosen(
      [request, &invocation] { invocation.exit_code = guarded(check_name, [&] { return run(*request); }); });
}

}  // namespace refrain::tools

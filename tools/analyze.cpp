/// `refrain analyze EXPERIMENT|ARCHIVE`: searches events for patterns of inefficiency.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <deque>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

#include "config/number.hpp"
#include "offline/experiment/folder.hpp"
#include "offline/patterns/kept_nodes.hpp"
#include "offline/patterns/path_names.hpp"
#include "offline/patterns/plugin_loader.hpp"
#include "offline/patterns/results.hpp"
#include "offline/report/found.hpp"
#include "offline/report/patterns_view.hpp"
#include "offline/run/loop_pools.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/installation.hpp"
#include "tools/progress_line.hpp"
#include "tools/rank_list.hpp"
#include "tools/search_sockets.hpp"
#include "tools/subcommands.hpp"
#include "tools/threads_option.hpp"
#include "tools/together.hpp"
#include "tools/trace_command.hpp"
#include "tools/which_experiment.hpp"

namespace refrain::tools {
namespace {

/// How long a process waits for silent ones.
constexpr std::chrono::seconds patience(120);

struct AnalyzeRequest {
  std::string experiment, format = "text";
  std::vector<std::string> ranks;
  std::string time;
  double frequent_us = 10;
  double big_bytes = 1 << 20;
  double uneven = 0.5;
  std::vector<std::string> plugins, settings;
  std::string as_sampled, threads;
  patterns::Request search;
  report::PatternOptions options;
  bool is_again = false;  ///< kept results are not used, but replaced
};

std::string wrong_as_setting(const std::string& word) {
  const auto equals = word.find('=');
  return equals == std::string::npos || equals == 0 ? "must be NAME=VALUE" : "";
}

std::string wrong_as_sample_memory(const std::string& text) {
  constexpr std::int64_t least = 32 << 10, most = std::int64_t{1} << 30;
  const config::ParsedNumber number = config::parse_number(text, true);
  const bool is_good = number.fault == config::NumberFault::None && number.value >= least && number.value <= most;
  return is_good ? "" : "must be 32K to 1G; K, M and G stand for 1024 and its powers";
}

/// Parses words of the form "NAME=VALUE".
std::map<std::string, std::string> settings_of(const std::vector<std::string>& words) {
  std::map<std::string, std::string> settings;
  for (const std::string& word : words) settings[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  return settings;
}

/// The ranks that were chosen; nothing: all ranks.
std::optional<std::set<std::int32_t>> chosen_ranks(const std::vector<std::string>& ranks) {
  if (ranks.empty()) return std::nullopt;
  const std::vector<std::int32_t> numbers = parse_ranks(ranks);
  return std::set<std::int32_t>(numbers.begin(), numbers.end());
}

/// Loads the plug-ins. One that cannot be loaded is reported and does not affect the others. Returns whether all were
/// loaded.
bool load_plugins(const std::deque<patterns::PluginRequest>& plugins, patterns::Patterns& patterns) {
  bool all = true;
  for (const patterns::PluginRequest& of : plugins) {
    try {
      load_plugin(of, find_python_plugins(own_executable("refrain")), patterns);
    } catch (const patterns::PluginError& error) {
      all = false;
      complain("analyze", exit_ok, error.what());
    }
  }
  return all;
}

/// Converts a range of seconds, as in "1.5:2", to nanoseconds of the trace. Empty: the whole trace.
patterns::SearchLimits limits_of(const std::string& time) {
  patterns::SearchLimits limits;
  if (time.empty()) return limits;
  const auto colon = time.find(':');
  const auto bad = [&]() -> report::UsageError {
    return report::UsageError("--time " + time + ": must be FROM:TO in seconds, either of which may be left out");
  };
  if (colon == std::string::npos) throw bad();
  const auto set = [&](std::string_view text, std::int64_t& to) {
    if (text.empty()) return;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > 1e9) throw bad();
    to = static_cast<std::int64_t>(value * 1e9);
  };
  set(std::string_view(time).substr(0, colon), limits.from_ns);
  set(std::string_view(time).substr(colon + 1), limits.to_ns);
  if (limits.from_ns >= limits.to_ns) throw bad();
  return limits;
}

/// Whether the request is for the whole experiment and for built-in patterns only: only such results are kept.
bool is_of_the_whole(const AnalyzeRequest& request) {
  return request.as_sampled.empty() && request.ranks.empty() && request.time.empty() && request.search.region.empty() &&
         !request.search.iteration && request.plugins.empty();
}

/// The parameters that change the results, without those that have their default value.
std::string parameters_of(const AnalyzeRequest& request) {
  const AnalyzeRequest usual;
  std::string text;
  const auto add = [&](const char* option, const auto& value, const auto& usual_value) {
    if (value != usual_value) text += fmt::format("{}{} {}", text.empty() ? "" : " ", option, value);
  };
  add("--master", request.search.parameters.master, usual.search.parameters.master);
  add("--frequent", request.frequent_us, usual.frequent_us);
  add("--big", request.big_bytes, usual.big_bytes);
  add("--uneven", request.uneven, usual.uneven);
  add("--critical-path", request.search.with_critical_path, false);
  return text;
}

void print(const AnalyzeRequest& request, const patterns::Analysis& analysis,
           std::span<const trace::LocationOfTrace> locations, const patterns::Naming& naming) {
  if (request.search.with_critical_path && !analysis.critical_path)
    complain("analyze", exit_ok, "the critical path is not known, as events are missing; REFRAIN_TRACE=all keeps all");
  report::print_analysis(analysis, locations, naming, request.options, report::detect_terminal(stdout),
                         write_to_stdout);
  flush_stdout();
}

void print_found(const AnalyzeRequest& request, report::Found found, const analysis::CallTree& tree) {
  const patterns::PathNames names(tree);
  from_kept_nodes(found.analysis, names.naming());
  if (!request.search.with_causes) found.analysis.causes.reset();
  print(request, found.analysis, found.locations, names.naming());
}

/// The first wanted name that is not a pattern; null: all are patterns.
const std::string* unknown_pattern(const std::vector<std::string>& wanted, const std::vector<std::string>& all) {
  const auto at =
      std::ranges::find_if(wanted, [&](const std::string& name) { return std::ranges::find(all, name) == all.end(); });
  return at == wanted.end() ? nullptr : &*at;
}

/// Prints kept results. Nothing: no kept results answer the request. Errors in the experiment or the request are left
/// to the search to report.
std::optional<int> print_kept(const AnalyzeRequest& request) {
  if (!is_of_the_whole(request) || request.is_again || trace::find_otf2_anchor(request.experiment) ||
      unknown_pattern(request.options.patterns, patterns::pattern_names()))
    return std::nullopt;
  try {
    const auto experiment = experiment::Experiment::open(request.experiment);
    const std::size_t damages = experiment->damages();
    auto found = report::kept_found(*experiment, experiment::AnalysisKey{.parameters = parameters_of(request)});
    // A part that is not needed here may be damaged, too: a search writes everything anew.
    static_cast<void>(experiment->saved_metrics());
    if (experiment->damages() > damages) found.reset();
    if (!found) {
      const auto lines = experiment->damage();
      for (std::size_t i = damages; i < lines.size(); ++i) complain("analyze", exit_ok, lines[i]);
    }
    if (!found || !found->has_events) return std::nullopt;
    print_found(request, std::move(*found), report::ReadProfile(*experiment).tree);
    return tell_damage("analyze", *experiment->damage_log());
  } catch (const experiment::ReadError&) {
    return std::nullopt;
  }
}

/// Calls `keep`; an experiment that this user may not write to is silently left as it is.
void try_to_keep(const std::function<void()>& keep) {
  try {
    keep();
  } catch (const std::system_error& error) {
    const bool is_of_others = error.code() == std::errc::permission_denied ||
                              error.code() == std::errc::operation_not_permitted ||
                              error.code() == std::errc::not_a_directory ||  // a packed experiment
                              error.code() == std::errc::read_only_file_system;
    if (!is_of_others) complain("analyze", exit_ok, std::string("what was found is not kept: ") + error.what());
  }
}

void keep_found(const AnalyzeRequest& request, const report::Found& found, const experiment::Experiment& experiment) {
  try_to_keep([&] {
    report::keep_found(experiment, found, parameters_of(request), REFRAIN_VERSION);
    if (request.is_again && found.may_be_kept) forget_old_analyses(experiment);
  });
  ProgressLine line;
  keep_pools(experiment, run::Asked::No, [&](double share) {
    line.show([&] { return fmt::format("dividing the time of iterations: {:.0f} %", 100 * share); });
  });
  line.end();
}

/// Keeps the findings from the profile of an experiment without events.
void keep_profile(const AnalyzeRequest& request) {
  try {
    const auto experiment = experiment::Experiment::open(request.experiment);
    if (request.is_again) forget_old_pools(*experiment);  // first: damaged pools would prevent keeping the findings
    if (request.is_again || !report::kept_found(*experiment))
      keep_found(request, report::search_some(request.experiment), *experiment);
  } catch (const experiment::ReadError&) {  // already reported
  }
}

/// Several processes together find no causes, so only metrics are kept, and only if no other results are.
void keep_metrics(const AnalyzeRequest& request, const patterns::Analysis& analysis, const trace::Trace& trace,
                  const patterns::Naming& naming) {
  const experiment::Experiment& experiment = trace.experiment();
  const auto is_list = [](const trace::RankOfTrace& of) { return of.mode == format::EventMode::List; };
  const experiment::AnalysisKey key{.parameters = parameters_of(request)};
  if (experiment.manifest().state == "running" || experiment.damages() > 0 || analysis.counts.damages > 0 ||
      std::ranges::any_of(trace.ranks(), is_list) || kept_analysis(experiment, key))
    return;
  try_to_keep([&] {
    keep(experiment, {key, REFRAIN_VERSION, trace.records(), as_metrics(analysis, trace, first_paths(trace, naming))});
  });
}

/// Why the request needs all events in one process; empty: it does not.
std::string needs_one_process(const AnalyzeRequest& request) {
  const std::pair<const char*, bool> alone[] = {{"--causes", request.search.with_causes},
                                                {"--critical-path", request.search.with_critical_path},
                                                {"--worst", request.options.with_worst},
                                                {"--plugin", !request.plugins.empty()}};
  for (const auto& [option, is_given] : alone)
    if (is_given) return fmt::format("{}: only of one process, not of several together", option);
  return {};
}

/// `group`: null if this process works alone.
int analyze(AnalyzeRequest& request, exports::ProcessGroup* group) {
  use_threads(request.threads);
  request.options.format = report::format_of(request.format);
  request.search.parameters.frequent_s = request.frequent_us / 1e6;
  request.search.parameters.big_bytes = request.big_bytes;
  request.search.parameters.uneven = request.uneven;
  if (const auto code = group ? std::nullopt : print_kept(request)) return *code;
  bool all_worked = true, has_events = false;
  std::optional<trace::AsSampled> as;
  if (!request.as_sampled.empty())
    as = {static_cast<std::size_t>(config::parse_number(request.as_sampled, true).value)};
  const int code = with_trace_or_archive(
      "analyze", request.experiment, request.ranks,
      [&](const trace::Trace& trace) {
        has_events = true;
        request.search.limits = limits_of(request.time);
        if (!request.time.empty() && patterns::is_sample_of_iterations(trace))
          throw report::UsageError("--time: only a sample of iterations was kept; --iteration looks at one of them");
        std::deque<patterns::PluginRequest> plugins;
        for (const std::string& file : request.plugins)
          plugins.push_back(
              {trace, file, request.experiment, chosen_ranks(request.ranks), settings_of(request.settings)});
        patterns::Patterns further;
        all_worked = load_plugins(plugins, further);
        const std::vector<std::string> all = patterns::pattern_names(further);
        if (const std::string* name = unknown_pattern(request.options.patterns, all))
          throw report::UsageError(
              fmt::format("--pattern {}: there is none of this name; there are {}", *name, fmt::join(all, ", ")));
        const std::int32_t master = request.search.parameters.master;
        if (master != 0 && std::ranges::find(trace.ranks(), master, &trace::RankOfTrace::rank) == trace.ranks().end())
          throw report::UsageError(fmt::format("--master {}: there are no events of such a rank", master));
        ProgressLine line;
        const auto end_ns = static_cast<double>(std::max<std::int64_t>(trace.end_ns(), 1));
        request.search.progress = [&](std::int64_t time_ns) {
          line.show(
              [&] { return fmt::format("searching events: {:.0f} %", 100 * static_cast<double>(time_ns) / end_ns); });
        };
        if (is_of_the_whole(request) && !group && !trace.archive()) {
          if (request.is_again) forget_old_pools(trace.experiment());
          const report::ReadProfile profile(trace.experiment());
          const report::Found found = report::search_all(trace, request.search, profile.usual());
          line.end();
          keep_found(request, found, trace.experiment());
          return print_found(request, found, profile.tree);
        }
        const bool is_first = !group || group->is_first();
        std::optional<patterns::PathNames> names;
        if (is_first) names.emplace(trace, report::usual_names());
        const patterns::Naming naming = is_first ? names->naming() : patterns::Naming();
        std::optional<SearchSockets> sockets;
        if (group) request.search.processes = &sockets.emplace(*group, patience);
        const patterns::Analysis analysis = patterns::analyse(trace, naming, request.search, std::move(further));
        line.end();
        if (!is_first) return;
        if (request.search.iteration && !analysis.has_iteration)
          throw report::UsageError(
              fmt::format("--iteration {}: there are no events of such an iteration", *request.search.iteration));
        if (!analysis.has_region)
          throw report::UsageError(
              fmt::format("--region {}: there is no MPI call on a call path with it", request.search.region));
        if (is_of_the_whole(request) && !trace.archive()) keep_metrics(request, analysis, trace, naming);
        print(request, analysis, trace.locations(), naming);
        for (const std::string& failure : analysis.failures) complain("analyze", exit_ok, failure);
        all_worked = all_worked && analysis.failures.empty();
      },
      as);
  if (!has_events && code == exit_usage && is_of_the_whole(request) && !group) keep_profile(request);
  return code == exit_ok && !all_worked ? exit_damaged : code;
}

/// `is_together`: several processes that a launcher started search together.
int run_analyze(AnalyzeRequest& request, bool is_together) {
  if (!find_experiment("analyze", request.experiment)) return exit_usage;
  const exports::PlaceInJob place = exports::place_in_job();
  if (place.size == 1 || !is_together) return analyze(request, nullptr);
  if (const std::string wrong = needs_one_process(request); !wrong.empty())
    return place.rank == 0 ? complain("analyze", exit_usage, wrong) : exit_ok;
  // In the working directory, as the experiment may belong to another user. The hash tells experiments of the same name
  // apart.
  const std::filesystem::path path = experiment::full_name(request.experiment);
  const std::string meeting =
      fmt::format("{}-{:08x}-analyze.processes", path.filename().string(),
                  static_cast<std::uint32_t>(std::hash<std::string>()(path.parent_path().string())));
  return work_together("analyze", meeting, place, patience,
                       [&](exports::ProcessGroup& group) { return analyze(request, &group); });
}

}  // namespace

void add_analyze(Command root, Invocation& invocation) {
  auto request = std::make_shared<AnalyzeRequest>();
  Command command = root.add("analyze", "Search the events of an experiment or an OTF2 archive for what costs time");
  add_experiment(command, request->experiment, "Experiment directory, or an OTF2 archive's .otf2");
  command.option("--format", request->format, "How to print").one_of(report::format_names()).shows_default();
  command.option("--pattern", request->options.patterns, "Only these patterns; may be repeated")
      .type("LIST")
      .separated_by(',');
  command.flag("--causes", request->search.with_causes,
               "Also what has made processes wait: on which rank, and between which calls");
  command.flag("--critical-path", request->search.with_critical_path,
               "Also what the end of the program has waited for, and how much of it is more than on average");
  command.flag("--worst", request->options.with_worst,
               "Also the calls that have waited longest, of each pattern and call path, where they are JSON");
  command.flag("--again", request->is_again, "Search again what was searched before, and keep what is found instead");
  command
      .option("--plugin", request->plugins, "Further patterns: a module of Python or a shared object; may be repeated")
      .type("FILE")
      .repeated();
  command.option("--set", request->settings, "What plug-ins are told; may be repeated")
      .type("NAME=VALUE")
      .check(wrong_as_setting)
      .repeated();
  command
      .option("--as-sampled", request->as_sampled,
              "As if only a sample of iterations had been kept, in so much memory for each location: of experiments "
              "with all events")
      .type("BYTES")
      .check(wrong_as_sample_memory);
  command.option("--region", request->search.region, "Only calls on call paths with this function or region")
      .type("NAME");
  command.option("--iteration", request->search.iteration, "Only calls in this iteration, counted from 0")
      .type("N")
      .grouped();
  command.option("--time", request->time, "Only calls that begin in this time, seconds since the begin of the trace")
      .type("FROM:TO");
  command.option("--rank", request->ranks, "Only these ranks, as in 0,4-7; may be repeated")
      .type("LIST")
      .separated_by(',');
  command
      .option("--master", request->search.parameters.master,
              "The master among slaves, of slow_slaves and overloaded_master")
      .type("RANK")
      .shows_default();
  command.option("--frequent", request->frequent_us, "Communication is frequent when a call is shorter on average")
      .type("MICROSECONDS")
      .check(wrong_as_amount)
      .shows_default();
  command.option("--big", request->big_bytes, "Messages are big when they are longer on average")
      .type("BYTES")
      .check(wrong_as_amount)
      .shows_default();
  command
      .option("--uneven", request->uneven,
              "Communication is uneven when its standard deviation over processes is more than this share of the mean")
      .type("SHARE")
      .check(wrong_as_amount)
      .shows_default();
  add_threads(command, request->threads);
  command.footer(
      "mpirun -n N refrain-analyze EXPERIMENT (or srun) searches with N processes.\n"
      "docs/patterns.md says what each pattern is. Where iterations were sampled, values are estimates for the whole "
      "run, with standard errors.\n"
      "Exit status: 0 done, 1 wrong usage or not written, 2 it cannot be read, 4 done, but a part of it is "
      "damaged or a plug-in has failed, which is named.");
  command.when_chosen([request, &invocation] {
    invocation.exit_code =
        run_analyze(*request, std::filesystem::path(invocation.name).filename() == "refrain-analyze");
  });
}

}  // namespace refrain::tools

/// `refrain report EXPERIMENT`: the report of an experiment in the terminal, or as JSON or CSV.

#include "offline/report/report.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <thread>
#include <unistd.h>
#include <utility>

#include "format/profile_file.hpp"
#include "offline/analysis/human_units.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/experiment/manifest_reader.hpp"
#include "offline/report/difference.hpp"
#include "offline/report/pattern_iterations.hpp"
#include "offline/report/wait_iterations.hpp"
#include "offline/run/iteration_metrics.hpp"
#include "offline/run/metrics.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/first_findings.hpp"
#include "tools/pager.hpp"
#include "tools/progress_line.hpp"
#include "tools/rank_list.hpp"
#include "tools/start.hpp"
#include "tools/subcommands.hpp"
#include "tools/trace_command.hpp"
#include "tools/which_experiment.hpp"

namespace refrain::tools {
namespace {

constexpr const char* name = "report";

struct Request {
  std::string experiment, other, output = "-";
  std::string format = "text";
  std::vector<std::string> ranks, folded;
  std::optional<double> watch_s;  ///< again after so many seconds, while the program runs
  report::Options options;
};

/// Where the report goes: standard output, or a file that is made when there is something to write, so that a request
/// that fails leaves no empty one behind.
class Output {
 public:
  /// `by_pages`: a text for people, which is held until all of it is there.
  explicit Output(const std::string& name, bool by_pages = false) : name_(name), by_pages_(by_pages && !to_file()) {}

  /// Throws std::runtime_error, once, when the file cannot be written; OutputFailed when standard output cannot.
  void write(std::string_view text) {
    if (by_pages_) {
      text_ += text;
      return;
    }
    if (!to_file()) return write_to_stdout(text);
    if (out_ == nullptr) out_ = std::fopen(name_.c_str(), "w");
    if (out_ == nullptr || std::fwrite(text.data(), 1, text.size(), out_) != text.size()) fail();
  }
  void finish() {
    if (by_pages_) print_by_pages(std::exchange(text_, {}));
    if (!to_file()) flush_stdout();
    if (out_ == nullptr) return;
    const bool flushed = std::fflush(out_) == 0;
    if (std::fclose(std::exchange(out_, nullptr)) != 0 || !flushed) fail();
  }
  bool to_file() const { return name_ != "-"; }

 private:
  [[noreturn]] void fail() const { throw std::runtime_error(name_ + ": " + std::strerror(errno)); }
  std::string name_, text_;
  bool by_pages_;
  std::FILE* out_ = nullptr;
};

/// Whether any of the ranks that are asked for can be read. `first`: the first of them, for the report not to read it
/// again.
bool anything_left(const experiment::Experiment& experiment, const report::Options& options,
                   experiment::RankHandle& first) {
  bool any = false;
  for (std::size_t place = 0; place < experiment.ranks().size(); ++place) {
    if (!options.chosen(experiment.ranks()[place])) continue;
    if ((first = experiment.rank(place, experiment::Depth::Run))) return true;
    any = true;
  }
  return !any && (!experiment.ranks().empty() || experiment.damages() == 0);  // else the request is wrong
}

/// So long the search for what stands out may take, of a report that somebody waits for.
constexpr std::chrono::milliseconds most_for_people(2500);

/// What stands out, and what events say of call paths. The search goes on while the report is made.
void search_for_findings(const std::string& experiment, report::Options& options) {
  constexpr std::chrono::milliseconds most_for_programs(10000);
  WantedFindings wanted;
  wanted.tree.callsites = options.callsites || options.needs_callsites();
  wanted.tree.depth = options.callpath_depth;
  wanted.tree.fold = options.fold;
  wanted.waits_by_rank = options.waits && options.format == report::Format::Json;
  wanted.traffic = options.needs_traffic();
  const bool is_for_people = options.format == report::Format::Text && !options.waits;
  const auto most = is_for_people ? most_for_people : most_for_programs;
  const auto search = std::make_shared<FindingsSearch>(experiment, most, OnSignal::EndsProcess, wanted);
  options.end_of_search = [search, experiment](report::Options& of) {
    FirstFindings findings = search->wait();
    if (findings.done == Step::Profile) {
      of.events_not_searched = fmt::format("refrain analyze {} tells who has waited for whom.", quoted({experiment}));
      findings.all.push_back({.rule = "events_not_searched",
                              .text = "there are too many events to search them here: " + *of.events_not_searched});
    } else if (findings.done == Step::None) {
      findings.all.push_back(
          {.rule = "not_searched", .text = "what stands out is not known: the search for it did not come to its end"});
    }
    if (of.needs_findings()) of.findings = std::move(findings.all);
    of.waits_in_events = std::move(findings.waits);
    of.traffic = std::move(findings.traffic);
  };
}

report::Terminal terminal_of(const Output& output) {
  return output.to_file() ? report::Terminal{0, true, false} : report::detect_terminal(stdout);
}

/// Findings are of all ranks.
report::RunToCompare run_to_compare(const std::string& name, std::shared_ptr<const experiment::Experiment> experiment,
                                    const report::Options& options) {
  if (!options.ranks.empty() || options.some_threads()) return {std::move(experiment), {}};
  FirstFindings first = first_findings(name, most_for_people, OnSignal::EndsProcess);
  return {std::move(experiment), std::move(first.all), first.done == Step::All};
}

int run_difference(const Request& request, const std::shared_ptr<const experiment::Experiment>& before) {
  const auto now = experiment::Experiment::open(request.other);
  analysis::Symbolizer symbolizer;
  Output output(request.output, request.options.format == report::Format::Text);
  render_difference(run_to_compare(request.experiment, before, request.options),
                    run_to_compare(request.other, now, request.options), request.options, terminal_of(output),
                    symbolizer, [&](std::string_view text) { output.write(text); });
  output.finish();
  int code = exit_ok;
  for (const auto& experiment : {before, now}) {
    if (experiment->damages() == 0) continue;
    tell_damage(name, *experiment->damage_log());
    code = exit_damaged;
  }
  return code;
}

/// `state`: becomes that of the experiment.
int run(Request request, std::string& state) {
  std::shared_ptr<const experiment::Experiment> experiment;
  try {
    request.options.set_format(request.format);
    RanksAndThreads chosen = parse_ranks_and_threads(request.ranks);
    request.options.ranks = std::move(chosen.ranks);
    request.options.threads_of_ranks = std::move(chosen.threads);
    for (const std::string& module : request.folded) {
      if (module == "none") request.options.fold.runtimes = false;
      else request.options.fold.modules.push_back(module);
    }
    ProgressLine line;
    request.options.progress = [&](std::size_t count, std::size_t all) {
      if (count < all) line.show([&] { return fmt::format("resolving symbols: {} of {}", count, all); });
      else line.end();
    };

    if (!find_experiment(name, request.experiment)) return exit_usage;
    if (is_archive(name, request.experiment)) return exit_usage;
    experiment = experiment::Experiment::open(request.experiment);
    state = experiment->manifest().state;
    experiment::RankHandle first;
    if (!anything_left(*experiment, request.options, first)) {
      tell_damage(name, *experiment->damage_log());
      return exit_unreadable;
    }
    request.options.other_metric = [&](const std::string& metric) {
      return metric == report::wait_metric_name ? report::wait_iterations(experiment)
                                                : report::search_iterations(experiment, metric);
    };
    if (!request.other.empty()) return run_difference(request, experiment);
    check_request(*experiment, request.options);
    if (request.options.needs_search()) search_for_findings(request.experiment, request.options);
    analysis::Symbolizer symbolizer;
    Output output(request.output, request.options.format == report::Format::Text && !request.watch_s);
    const report::Terminal terminal = terminal_of(output);
    render(experiment, request.options, terminal, symbolizer, [&](std::string_view text) { output.write(text); });
    output.finish();
    if (experiment->damages() == 0) return exit_ok;
    // The text says it itself.
    if (request.options.format != report::Format::Text || output.to_file())
      tell_damage(name, *experiment->damage_log());
    return exit_damaged;
  } catch (const experiment::ReadError& error) {
    return complain(name, exit_unreadable, error.what());
  } catch (const std::exception& error) {
    if (experiment) tell_damage(name, *experiment->damage_log());  // which may have cost what was asked for
    return complain(name, exit_usage, error.what());
  }
}

/// Of a program that may not have written anything else yet. Empty: it is not known.
std::string state_before_profile(const std::string& experiment) {
  try {
    return parse_manifest(experiment::InputFile(std::filesystem::path(experiment) / format::manifest_name)).state;
  } catch (const experiment::ReadError&) {
    return {};
  }
}

/// Since anything was last written there, seconds.
double silence_s(const std::string& experiment) {
  namespace fs = std::filesystem;
  std::optional<fs::file_time_type> latest;
  std::error_code error;
  for (fs::directory_iterator at(experiment, error), end; !error && at != end; at.increment(error)) {
    std::error_code of_file;
    const fs::file_time_type time = at->last_write_time(of_file);
    if (!of_file && (!latest || time > *latest)) latest = time;
  }
  return latest ? std::chrono::duration<double>(fs::file_time_type::clock::now() - *latest).count() : 0;
}

/// Of a program that runs, a snapshot comes at least so often, seconds; 0: it writes none.
double snapshot_interval_s(const std::string& experiment) {
  constexpr double usual = 600;
  try {
    const auto manifest =
        parse_manifest(experiment::InputFile(std::filesystem::path(experiment) / format::manifest_name));
    for (const auto& [name, value] : manifest.configuration)
      if (name == "REFRAIN_SNAPSHOT") return std::strtod(value.c_str(), nullptr);
  } catch (const experiment::ReadError&) {
  }
  return usual;
}

/// The same page again and again from the snapshots of a program that runs, until it has ended.
int watch(Request request) {
  if (request.format != "text" || request.output != "-" || !request.other.empty())
    return complain(name, exit_usage, "--watch: goes with the text of one experiment, on standard output");
  if (!find_experiment(name, request.experiment)) return exit_usage;
  for (;;) {
    std::string state;
    if (isatty(STDOUT_FILENO) == 1) show("\033[H\033[2J");
    const int code = run(request, state);
    if (state.empty()) state = state_before_profile(request.experiment);
    if (state != "running" || code == exit_usage) return code;
    constexpr double intervals = 3, least_s = 60;
    const double silence = silence_s(request.experiment), interval = snapshot_interval_s(request.experiment);
    if (interval > 0 && silence > std::max(intervals * interval, least_s)) {
      show("Nothing was written for {}: the program was killed, or hangs.\n", analysis::human_time(silence));
      return code;
    }
    flush_stdout();
    std::this_thread::sleep_for(std::chrono::duration<double>(*request.watch_s));
  }
}

/// The largest number fits the names of iterations and clusters.
std::string wrong_as_number(const std::string& text) {
  const bool number = !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
  return number ? std::string() : text + ": a number, counted from 0";
}
std::string wrong_as_name(const std::string& text) { return text.empty() ? "a name is missing" : std::string(); }
std::string wrong_as_count(const std::string& text) {
  return wrong_as_number(text).empty() ? std::string() : text + ": a whole number, 0 or more";
}

Option within(Option option, double least, double most) {
  return option.check([=](const std::string& text) {
    double value = least - 1;
    const char* end = text.data() + text.size();
    const auto at = std::from_chars(text.data(), end, value);
    const bool good = at.ec == std::errc() && at.ptr == end && value >= least && value <= most;
    return good ? std::string() : fmt::format("{} is not a number from {} to {}", text, least, most);
  });
}

/// Each view has metrics of its own.
void add_metric_option(Command command, report::Options& options) {
  std::vector<std::string> metrics = run::iteration_metric_names();
  std::vector<std::string> of_callpaths;
  for (const auto& metric : run::callpath_metrics({})) of_callpaths.push_back(metric.name);
  const std::vector<std::string> of_locations = run::Metrics::names();
  constexpr const char* asked_for = "or one of REFRAIN_METRICS";
  const std::string help = fmt::format(
      "With --iterations: {}, {} (default: wall); with --iterations --callpath: {}, {}; both also wait, or a pattern "
      "of waiting, late_sender, wait_at_nxn, and others, of iterations whose events were kept; with --locations: {}, "
      "{}, or a "
      "pattern that refrain analyze has found",
      fmt::join(metrics, ", "), asked_for, fmt::join(of_callpaths, ", "), asked_for, fmt::join(of_locations, ", "),
      asked_for);
  for (const std::string& metric : of_locations)
    if (std::ranges::find(metrics, metric) == metrics.end()) metrics.push_back(metric);
  metrics.emplace_back("wait");
  command.option("--metric", options.metric, help).likely_one_of(metrics, "NAME");
}

/// What is shown of marked loops. Returns the options of which one at most makes sense.
std::vector<Option> add_loop_options(Command command, report::Options& options) {
  Option iterations =
      command.flag("--iterations", options.iterations, "Every iteration of the marked loops, as a graph and a map");
  add_metric_option(command, options);
  command
      .option("--callpath", options.callpath,
              "With --iterations or --locations: only below these functions, as in main/solve/MPI_Allreduce, or as a "
              "report prints them")
      .type("NAMES")
      .check(wrong_as_name);
  command.option("--loop", options.loop, "Only the marked loop of this name").type("NAME").check(wrong_as_name);
  command.option("--thread", options.thread, "Only the threads of this number; 0 is a rank's first")
      .type("N")
      .check(wrong_as_number);
  Option clusters = command.flag("--clusters", options.clusters, "The clusters of iterations, rank by rank");
  Option iteration = command.option("--iteration", options.iteration, "The call tree of this iteration, counted from 0")
                         .type("N")
                         .grouped()
                         .check(wrong_as_number);
  Option cluster =
      command.option("--cluster", options.cluster, "The call tree of this cluster of one rank (see --rank, --thread)")
          .type("K")
          .grouped()
          .check(wrong_as_number);
  for (Option one : {iteration, cluster}) one.excludes(iterations).excludes(clusters);
  iteration.excludes(cluster);
  return {iterations, clusters, iteration, cluster};
}

/// Views that are one table, and what arranges them. `others`: views that they do not go together with.
void add_table_views(Command command, report::Options& options, const std::vector<Option>& others) {
  std::vector<Option> views{
      command.flag("--mpi", options.mpi, "Call sites of MPI: time, calls, sizes, waiting, spread over ranks"),
      command.flag("--modules", options.modules, "By executable and library"),
      command.option("--callers", options.callers, "Who calls this function, by call path")
          .type("FUNCTION")
          .check(wrong_as_name),
      command.option("--source", options.source, "The lines of this source file with their share of the time")
          .type("FILE")
          .check(wrong_as_name),
      command.flag("--sizes", options.sizes, "How much calls of MPI move, as a histogram"),
      command.flag("--communicators", options.communicators,
                   "The communicators: time of calls on them, and their ranks"),
      command.flag("--nodes", options.nodes, "By machine")};
  for (std::size_t i = 0; i < views.size(); ++i) {
    for (Option other : others) views[i].excludes(other);
    for (std::size_t k = 0; k < i; ++k) views[i].excludes(views[k]);
  }
  command
      .option("--sort", options.sort,
              "Column that a table is sorted by, numbers from the largest one on; -COLUMN: the other way round")
      .type("COLUMN")
      .check(wrong_as_name);
  command.option("--limit", options.limit, "Rows of a table").type("N").check(wrong_as_count);
  command.option("--columns", options.columns, "Columns of a table, in this order").type("LIST").separated_by(',');
}

}  // namespace

void add_report(Command root, Invocation& invocation) {
  auto request = std::make_shared<Request>();
  Command command = root.add("report", "Show where the time of an experiment went");
  add_experiment(command, request->experiment, "Experiment directory");
  command.option("other", request->other, "Another experiment: what changed from the first to this one")
      .type("EXPERIMENT");
  command.option("--format", request->format, "How to print").one_of(report::format_names()).shows_default();
  Option flat = command.flag("--flat", request->options.flat, "By function instead of by call path");
  std::vector<Option> others = add_loop_options(command, request->options);
  others.insert(others.begin(), flat);
  Option windows =
      command.flag("--windows", request->options.windows, "One-sided operations by window, origin and target");
  for (Option other : others) windows.excludes(other);
  Option locations = command.flag("--locations", request->options.locations,
                                  "Rank by rank and thread by thread, with standard errors");
  for (Option other : others) locations.excludes(other);
  locations.excludes(windows);
  Option events = command.flag("--events", request->options.events, "What events were kept, rank by rank");
  for (Option other : others) events.excludes(other);
  events.excludes(windows).excludes(locations);
  Option findings = command.flag("--findings", request->options.all_findings,
                                 "Everything that stands out, also what the first page has no room for");
  for (Option other : others) findings.excludes(other);
  findings.excludes(windows).excludes(locations).excludes(events);
  Option waits =
      command.flag("--waits", request->options.waits, "Who has waited for others, by call path, as each method tells");
  for (Option other : others) waits.excludes(other);
  waits.excludes(windows).excludes(locations).excludes(events).excludes(findings);
  std::vector<Option> views = others;
  views.insert(views.end(), {windows, locations, events, findings, waits});
  add_table_views(command, request->options, views);
  command.flag("--callsites", request->options.callsites,
               "Keep the call sites of one function apart, with module, file and line");
  within(command
             .option("--callpath-depth", request->options.callpath_depth,
                     "Frames to keep of each call path; MPI functions stay below the last one")
             .type("N"),
         1, 1'000'000);
  command
      .option("--fold", request->folded,
              "Show the frames of this module that follow each other as one line, as those of language runtimes always "
              "are; none: not even those; may be repeated")
      .type("MODULE")
      .repeated();
  command
      .option("--rank", request->ranks, "Only these ranks, as in 0,4-7, or threads of them, as in 0.1; may be repeated")
      .type("LIST")
      .separated_by(',');
  within(command
             .option("--min-share", request->options.min_share,
                     fmt::format("Percent of the wall time below which the text folds a call path (default: {}, or "
                                 "more so that the call tree fits on a screen)",
                                 report::usual_min_share))
             .type("PERCENT"),
         0, 100);
  command.option("-o,--output", request->output, "File to write instead of standard output").type("FILE");
  command.footer(
      "Values are sums over all locations (threads of all ranks).\n"
      "Exit status: 0 done, 1 wrong usage or not written, 2 the experiment cannot be read, 4 done, but a part of it "
      "is\n"
      "damaged; what is missing is named.");
  within(command
             .option("--watch", request->watch_s,
                     "While the program runs, show the page again after so many seconds (see REFRAIN_SNAPSHOT)")
             .type("SECONDS"),
         0.1, 86'400);
  command.when_chosen([request, &invocation] {
    std::string state;
    invocation.exit_code = request->watch_s ? watch(*request) : run(*request, state);
  });
}

}  // namespace refrain::tools

/// `refrain report EXPERIMENT`: the report of an experiment in the terminal, or as JSON or CSV.

#include "offline/report/report.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <unistd.h>
#include <utility>

#include "offline/analysis/iteration_metrics.hpp"
#include "offline/analysis/severities.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/report/pattern_iterations.hpp"
#include "offline/report/wait_iterations.hpp"
#include "tools/complaints.hpp"
#include "tools/exit_codes.hpp"
#include "tools/first_findings.hpp"
#include "tools/progress_line.hpp"
#include "tools/rank_list.hpp"
#include "tools/start.hpp"
#include "tools/subcommands.hpp"
#include "tools/trace_command.hpp"

namespace refrain::tools {
namespace {

constexpr const char* name = "report";

struct Request {
  std::string experiment, output = "-";
  std::string format = "text";
  std::vector<std::string> ranks;
  report::Options options;
};

/// Where the report goes: standard output, or a file that is made when there is something to write, so that a request
/// that fails leaves no empty one behind.
class Output {
 public:
  explicit Output(const std::string& name) : name_(name) {}

  /// Throws std::runtime_error, once, when it cannot be written.
  void write(std::string_view text) {
    if (out_ == nullptr) out_ = to_file() ? std::fopen(name_.c_str(), "w") : stdout;
    if (out_ == nullptr || std::fwrite(text.data(), 1, text.size(), out_) != text.size()) fail();
  }
  void finish() {
    if (out_ == nullptr) return;
    std::FILE* out = std::exchange(out_, nullptr);
    if (std::fflush(out) != 0 || (to_file() && std::fclose(out) != 0)) fail();
  }
  bool to_file() const { return name_ != "-"; }

 private:
  [[noreturn]] void fail() const {
    throw std::runtime_error((to_file() ? name_ : std::string("standard output")) + ": " + std::strerror(errno));
  }
  std::string name_;
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

/// What events say: in a few lines for people, and how long call paths have waited.
void search_events(const std::string& experiment, report::Options& options) {
  constexpr std::chrono::seconds most_for_people(3), most_for_programs(10);
  WantedFindings wanted;
  wanted.tree.callsites = options.callsites;
  wanted.tree.depth = options.callpath_depth;
  wanted.waits_by_rank = options.waits && options.format == report::Format::Json;
  const bool is_for_people = options.format == report::Format::Text && !options.waits;
  const auto most = is_for_people ? most_for_people : most_for_programs;
  FirstFindings findings = first_findings(experiment, most, OnSignal::EndsProcess, wanted);
  if (!findings.is_done) {
    findings.lines = {fmt::format("refrain analyze {} tells who has waited for whom.", quoted({experiment}))};
    options.events_not_searched = findings.lines[0];
  }
  if (options.is_first_page()) options.findings = std::move(findings.lines);
  options.waits_in_events = std::move(findings.waits);
}

int run(Request request) {
  std::shared_ptr<const experiment::Experiment> experiment;
  try {
    request.options.set_format(request.format);
    request.options.ranks = parse_ranks(request.ranks);
    ProgressLine line;
    request.options.progress = [&](std::size_t count, std::size_t all) {
      if (count < all) line.show([&] { return fmt::format("resolving symbols: {} of {}", count, all); });
      else line.end();
    };

    if (is_archive(name, request.experiment)) return exit_usage;
    experiment = experiment::Experiment::open(request.experiment);
    experiment::RankHandle first;
    if (!anything_left(*experiment, request.options, first)) {
      tell_damage(name, *experiment->damage_log());
      return exit_unreadable;
    }
    request.options.other_metric = [&](const std::string& metric) {
      return metric == report::wait_metric_name ? report::wait_iterations(experiment)
                                                : report::search_iterations(experiment, metric);
    };
    check_request(*experiment, request.options);
    if (request.options.shows_call_tree()) search_events(request.experiment, request.options);
    analysis::Symbolizer symbolizer;
    Output output(request.output);
    const report::Terminal terminal =
        output.to_file() ? report::Terminal{0, true, false} : report::detect_terminal(stdout);
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

/// The largest number fits the names of iterations and clusters.
std::string wrong_as_number(const std::string& text) {
  const bool number = !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
  return number ? std::string() : text + ": a number, counted from 0";
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
  std::vector<std::string> metrics = analysis::iteration_metric_names();
  std::vector<std::string> of_callpaths;
  for (const auto& metric : analysis::callpath_metrics({})) of_callpaths.push_back(metric.name);
  const std::vector<std::string> of_locations = analysis::severity_metric_names();
  constexpr const char* asked_for = "or one of REFRAIN_METRICS";
  const std::string help = fmt::format(
      "With --iterations: {}, {} (default: wall); with --iterations --callpath: {}, {}; both also wait, or a pattern "
      "of "
      "waiting, "
      "late_sender, wait_at_nxn, and others, of iterations whose events were kept; with --locations: {}, {}, or a "
      "pattern that refrain analyze has found",
      fmt::join(metrics, ", "), asked_for, fmt::join(of_callpaths, ", "), asked_for, fmt::join(of_locations, ", "),
      asked_for);
  for (const std::string& metric : of_locations)
    if (std::ranges::find(metrics, metric) == metrics.end()) metrics.push_back(metric);
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
      .type("NAMES");
  command.option("--loop", options.loop, "Only the marked loop of this name").type("NAME");
  command
      .option("--thread", options.thread,
              "Of marked loops and --locations only the threads of this number; 0 is a rank's first")
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

}  // namespace

void add_report(Command root, Invocation& invocation) {
  auto request = std::make_shared<Request>();
  Command command = root.add("report", "Show where the time of an experiment went");
  command.option("experiment", request->experiment, "Experiment directory").type("EXPERIMENT").required();
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
  Option waits =
      command.flag("--waits", request->options.waits, "Who has waited for others, by call path, as each method tells");
  for (Option other : others) waits.excludes(other);
  waits.excludes(windows).excludes(locations).excludes(events);
  command.flag("--callsites", request->options.callsites,
               "Keep the call sites of one function apart, with module, file and line");
  within(command
             .option("--callpath-depth", request->options.callpath_depth,
                     "Frames to keep of each call path; MPI functions stay below the last one")
             .type("N"),
         1, 1'000'000);
  command.option("--rank", request->ranks, "Only these ranks, as in 0,4-7; may be repeated")
      .type("LIST")
      .separated_by(',');
  within(command
             .option("--min-share", request->options.min_share,
                     fmt::format("Percent of the wall time below which the text folds a call path (default: {})",
                                 report::usual_min_share))
             .type("PERCENT"),
         0, 100);
  command.option("-o,--output", request->output, "File to write instead of standard output").type("FILE");
  command.footer(
      "Values are sums over all locations (threads of all ranks).\n"
      "Exit status: 0 done, 1 wrong usage or not written, 2 the experiment cannot be read, 4 done, but a part of it "
      "is\n"
      "damaged; what is missing is named.");
  command.when_chosen([request, &invocation] { invocation.exit_code = run(*request); });
}

}  // namespace refrain::tools

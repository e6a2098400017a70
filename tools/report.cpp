/// `refrain report EXPERIMENT...`: reports an experiment or a run of another tool in the terminal, or as JSON or CSV;
/// what changed from one run to another; means over several runs.

#include "offline/report/report.hpp"

#include <algorithm>
#include <cerrno>
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
#include "offline/database/profile_run.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/experiment/manifest_reader.hpp"
#include "offline/report/compared_run.hpp"
#include "offline/report/difference.hpp"
#include "offline/report/foreign_report.hpp"
#include "offline/report/found.hpp"
#include "offline/report/pattern_iterations.hpp"
#include "offline/report/several.hpp"
#include "offline/report/views.hpp"
#include "offline/report/wait_iterations.hpp"
#include "offline/run/metrics.hpp"
#include "offline/symbols/experiment_names.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/pager.hpp"
#include "tools/progress_line.hpp"
#include "tools/rank_list.hpp"
#include "tools/read_run.hpp"
#include "tools/subcommands.hpp"
#include "tools/threads_option.hpp"
#include "tools/which_experiment.hpp"

namespace refrain::tools {
namespace {

constexpr const char* report_name = "report";

struct ReportCommand {
  std::string experiment, output = "-";
  std::vector<std::string> others;
  std::string format = "text", threads;
  std::vector<std::string> ranks, folded;
  std::optional<double> watch_s;  ///< seconds between updates, while the program runs
  report::Request request;
};

/// The output of a report: standard output, or a file that is created at the first write, so that a failed request
/// leaves no empty file behind.
class Output {
 public:
  /// `by_pages`: collect the whole text and show it in a pager.
  explicit Output(const std::string& name, bool by_pages = false) : name_(name), by_pages_(by_pages && !to_file()) {}

  /// Throws std::runtime_error, once, if the file cannot be written; OutputFailed if standard output cannot.
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

/// Whether any requested rank can be read. `first`: set to the first of them, so that the report need not read it
/// again.
bool anything_left(const experiment::Experiment& experiment, const report::Request& request,
                   experiment::RankHandle& first) {
  bool any = false;
  for (std::size_t place = 0; place < experiment.ranks().size(); ++place) {
    if (!request.chosen(experiment.ranks()[place])) continue;
    if ((first = experiment.rank(place, experiment::Depth::Run))) return true;
    any = true;
  }
  return !any && (!experiment.ranks().empty() || experiment.damages() == 0);  // else the request is wrong
}

/// The findings that are kept, or else those of a search now.
report::Found found_with_progress(const experiment::Experiment& experiment,
                                  const report::UsualProfile* known = nullptr) {
  ProgressLine line;
  const auto show = [&](double share) {
    line.show([&] { return fmt::format("searching events: {:.0f} %", 100 * share); });
  };
  return report::found_in(experiment, show, known);
}

/// Searches for the pattern `metric`: once found, a pattern is a metric of locations. Results of an earlier version are
/// shown as such. Nothing: no search was needed.
std::optional<report::Found> find_metric(const experiment::Experiment& experiment, const std::string& metric) {
  const std::vector<std::string> known = run::Metrics::names();
  const auto is_it = [&](const experiment::SavedMetric& of) { return of.name == metric; };
  const std::vector<std::string> all = patterns::pattern_names();
  if (std::ranges::find(known, metric) != known.end() || std::ranges::find(all, metric) == all.end())
    return std::nullopt;
  if (!kept_analyses(experiment).empty() || std::ranges::none_of(experiment.saved_metrics(), is_it))
    return found_with_progress(experiment);
  complain(report_name, exit_ok, fmt::format("{}: analysed by 0.1.0; refrain analyze --again searches again", metric));
  return std::nullopt;
}

report::Terminal terminal_of(const Output& output) {
  return output.to_file() ? report::Terminal{0, true, false} : report::detect_terminal(stdout);
}

/// Shows the progress of resolving symbols, which takes a while the first time.
report::Progress show_progress() {
  return [line = std::make_shared<ProgressLine>()](std::size_t count, std::size_t all) {
    if (count < all) line->show([&] { return fmt::format("resolving symbols: {} of {}", count, all); });
    else line->end();
  };
}

/// Complains about the notes, except if a text on standard output contains them already.
void tell_notes(const std::vector<std::string>& notes, const report::Request& request, const Output& output) {
  if (request.format == report::Format::Text && !output.to_file()) return;
  for (const std::string& note : notes) complain(report_name, exit_ok, note);
}

/// Reads a profile or an archive of another tool.
report::ForeignRun read_foreign(const std::string& path, const report::Request& request) {
  return report::foreign_run(*database::profile_run(path), path, request);
}

int run_foreign(const ReportCommand& command) {
  if (command.watch_s)
    throw report::UsageError(fmt::format("--watch: of an experiment; {} is of another tool", command.experiment));
  const report::ForeignRun run = read_foreign(command.experiment, command.request);
  check_foreign_request(run, command.request, report::Together::One);
  Output output(command.output, command.request.format == report::Format::Text);
  render_foreign(run, command.request, terminal_of(output), [&](std::string_view text) { output.write(text); });
  output.finish();
  std::vector<std::string> notes;
  for (const std::string& note : run.notes) notes.push_back(fmt::format("{}: {}", run.path, note));
  tell_notes(notes, command.request, output);
  return run.is_complete ? exit_ok : exit_damaged;
}

/// Findings cover all ranks, so they are only added if no ranks or threads are chosen.
report::RunToCompare run_to_compare(report::ComparedRun run, const report::Request& request) {
  if (!run.experiment || !request.ranks.empty() || request.some_threads()) return {std::move(run)};
  report::Found found = found_with_progress(*run.experiment);
  return {std::move(run), std::move(found.findings), found.not_searched.empty()};
}

std::string_view kind_of_run(const std::string& path) {
  if (!is_foreign(path)) return "experiment";
  const char* const source = database::source_of(path);
  if (source == nullptr) database::refuse_file(path);
  return source;
}

/// Checks, before any run is read, that all are of one kind and each is named once. Throws UsageError.
void check_runs_together(const std::vector<std::string>& paths) {
  std::optional<std::pair<std::string, std::string_view>> first;  // path and kind
  for (const std::string& path : paths) {
    if (!std::filesystem::exists(path)) continue;  // its reader reports it
    const std::string_view kind = kind_of_run(path);
    if (!first) first = {path, kind};
    if (kind != first->second)
      throw report::UsageError(fmt::format("{} is of another kind ({}) than {} ({}): runs of one kind are put together",
                                           path, kind, first->first, first->second));
  }
  if (paths.size() > 2) check_named_once(paths);  // a mean counts each run once; comparing a run with itself is allowed
}

/// Compares two runs, or averages more than two.
int run_together(const ReportCommand& command) {
  const report::Request& request = command.request;
  std::vector<std::string> paths{command.experiment};
  paths.insert(paths.end(), command.others.begin(), command.others.end());
  const bool is_difference = paths.size() == 2;
  check_compared_request(request, is_difference);
  check_runs_together(paths);
  analysis::Symbolizer symbolizer;
  std::vector<std::shared_ptr<const experiment::Experiment>> experiments;  // null: a run of another tool
  for (const std::string& path : paths) {
    const auto& experiment = experiments.emplace_back(is_foreign(path) ? nullptr : experiment::Experiment::open(path));
    if (!experiment) continue;
    if (experiment::RankHandle first; !anything_left(*experiment, request, first)) {
      tell_damage(report_name, *experiment->damage_log());
      return exit_unreadable;
    }
    symbols::use_names(*experiment, symbolizer, {.progress = show_progress()});
  }
  std::vector<report::ComparedRun> runs;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (experiments[i]) {
      runs.push_back(compared_run(experiments[i], request, show_progress(), symbolizer));
      continue;
    }
    report::ForeignRun foreign = read_foreign(paths[i], request);
    check_foreign_request(foreign, request, report::Together::Several);
    runs.push_back(compared_run(std::move(foreign)));
  }
  Output output(command.output, request.format == report::Format::Text);
  const auto write = [&](std::string_view text) { output.write(text); };
  const bool is_whole = std::ranges::all_of(runs, [](const report::ComparedRun& of) { return of.lacks.empty(); });
  const bool is_of_tool = !runs[0].experiment;
  std::vector<const report::ComparedRun*> all;
  for (const report::ComparedRun& of : runs) all.push_back(&of);
  const std::vector<std::string> notes = notes_on(all);
  if (is_difference)
    render_difference(run_to_compare(std::move(runs[0]), request), run_to_compare(std::move(runs[1]), request), request,
                      terminal_of(output), write);
  else render_several(runs, request, terminal_of(output), write);
  output.finish();
  tell_notes(notes, request, output);
  int code = is_of_tool && !is_whole ? exit_damaged : exit_ok;
  for (const auto& experiment : experiments) {
    if (!experiment || experiment->damages() == 0) continue;
    tell_damage(report_name, *experiment->damage_log());
    code = exit_damaged;
  }
  return code;
}

/// The request that the command line describes.
report::Request request_of(const ReportCommand& command) {
  report::Request request = command.request;
  request.format = report::format_of(command.format);
  RanksAndThreads chosen = parse_ranks_and_threads(command.ranks);
  request.ranks = std::move(chosen.ranks);
  request.threads_of_ranks = std::move(chosen.threads);
  for (const std::string& module : command.folded) {
    if (module == "none") request.fold.runtimes = false;
    else request.fold.modules.push_back(module);
  }
  return request;
}

/// `state`: set to the state of the experiment.
int run(ReportCommand command, std::string& state) {
  std::shared_ptr<const experiment::Experiment> experiment;
  try {
    const report::Request& request = command.request = request_of(command);
    use_threads(command.threads);
    if (!find_experiment(report_name, command.experiment)) return exit_usage;
    if (!command.others.empty()) return run_together(command);
    if (is_foreign(command.experiment)) return run_foreign(command);
    experiment = experiment::Experiment::open(command.experiment);
    state = experiment->manifest().state;
    experiment::RankHandle first;
    if (!anything_left(*experiment, request, first)) {
      tell_damage(report_name, *experiment->damage_log());
      return exit_unreadable;
    }
    check_request(*experiment, request);
    analysis::Symbolizer symbolizer;
    symbols::use_names(*experiment, symbolizer, {.progress = show_progress()});
    std::optional<report::Found> found;
    if (request.asks(report::Show::Locations)) found = find_metric(*experiment, request.metric);
    report::Source source{experiment, symbolizer, show_progress()};
    if (request.needs_search())
      source.search = [&](const report::UsualProfile* known) {
        return found ? std::move(*found) : found_with_progress(*experiment, known);
      };
    source.other_metric = [&](const std::string& metric) {
      return metric == report::wait_metric_name ? report::wait_iterations(experiment)
                                                : report::search_iterations(experiment, metric);
    };
    const bool is_text = request.format == report::Format::Text;
    Output output(command.output, is_text && !command.watch_s);
    render(source, request, terminal_of(output), [&](std::string_view text) { output.write(text); });
    output.finish();
    if (experiment->damages() == 0) return exit_ok;
    // The text contains it already.
    if (!is_text || output.to_file()) tell_damage(report_name, *experiment->damage_log());
    return exit_damaged;
  } catch (const experiment::ReadError& error) {
    return complain(report_name, exit_unreadable, error.what());
  } catch (const std::exception& error) {
    if (experiment) tell_damage(report_name, *experiment->damage_log());  // the damage may be the reason
    return complain(report_name, exit_usage, error.what());
  }
}

/// The manifest of a program that may not have written any other file yet. Nothing: it cannot be read.
std::optional<experiment::Manifest> manifest_of(const std::string& experiment) {
  try {
    return parse_manifest(experiment::InputFile(std::filesystem::path(experiment) / format::manifest_name));
  } catch (const experiment::ReadError&) {
    return std::nullopt;
  }
}

/// Seconds since any file in the experiment was last written.
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

/// The longest interval between snapshots of a running program, in seconds; 0: it writes none.
double snapshot_interval_s(const experiment::Manifest& manifest) {
  constexpr double usual = 600;
  const auto at =
      std::ranges::find(manifest.configuration, "REFRAIN_SNAPSHOT", [](const auto& of) { return of.first; });
  return at == manifest.configuration.end() ? usual : std::strtod(at->second.c_str(), nullptr);
}

/// Shows the same page repeatedly, from the snapshots of a running program, until the program has ended.
int watch(ReportCommand command) {
  if (command.format != "text" || command.output != "-" || !command.others.empty())
    return complain(report_name, exit_usage, "--watch: goes with the text of one experiment, on standard output");
  if (!find_experiment(report_name, command.experiment)) return exit_usage;
  for (;;) {
    std::string state;
    if (isatty(STDOUT_FILENO) == 1) show("\033[H\033[2J");
    const int code = run(command, state);
    const auto manifest = manifest_of(command.experiment);
    if (state.empty() && manifest) state = manifest->state;
    if (state != "running" || code == exit_usage) return code;
    constexpr double intervals = 3, least_s = 60;
    const double silence = silence_s(command.experiment), interval = manifest ? snapshot_interval_s(*manifest) : 0;
    if (interval > 0 && silence > std::max(intervals * interval, least_s)) {
      show("Nothing was written for {}: the program was killed, or hangs.\n", analysis::human_time(silence));
      return code;
    }
    flush_stdout();
    std::this_thread::sleep_for(std::chrono::duration<double>(*command.watch_s));
  }
}

/// Adds an option to the command for each view. Returns the options with their names.
std::vector<std::pair<const char*, Option>> add_views(Command command, report::Request& request) {
  std::vector<std::pair<const char*, Option>> added;
  const auto all = report::views();
  for (auto at = all.rbegin(); at != all.rend(); ++at) {  // the most general one first
    const report::View& view = *at;
    if (*view.option == '\0') continue;
    const auto ask = [&request, show = view.show] { request.views.push_back(show); };
    const auto ask_for = [&request, ask](const std::string& subject) {
      request.subject = subject;
      ask();
    };
    const bool is_flag = *view.subject == '\0';
    added.emplace_back(
        view.option,
        is_flag ? command.flag(view.option, ask, view.help)
                : command.option(view.option, ask_for, view.help).type(view.subject).check(report::wrong_as_name));
  }
  return added;
}

Option add_request_option(Command command, report::Request& request, const report::RequestOption& row) {
  using Of = report::RequestOption;
  Option option = std::visit(
      [&](const auto member) {
        auto& value = request.*member;
        if constexpr (std::is_same_v<decltype(value), bool&>) return command.flag(row.name, value, row.help);
        else return command.option(row.name, value, row.help);
      },
      row.member);
  if (row.values == Of::None) return option;
  if (row.likely.empty()) option.type(row.value);
  else option.likely_one_of(row.likely, row.value);
  if (row.values == Of::List) return option.separated_by(',');
  if (row.values == Of::Ordinal) option.grouped();
  return option.check([&row](const std::string& value) { return row.wrong(value); });
}

/// Adds options from the tables of views and of requests. Views exclude each other and parts of the run, unless
/// go_together() allows the pair.
void add_rows(Command command, report::Request& request) {
  auto alone = add_views(command, request);
  for (const report::RequestOption& row : report::request_options()) {
    const Option option = add_request_option(command, request, row);
    if (row.ask == report::Ask::Iteration || row.ask == report::Ask::Cluster) alone.emplace_back(row.name, option);
  }
  for (std::size_t i = 0; i < alone.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (!report::go_together(alone[i].first, alone[k].first)) alone[i].second.excludes(alone[k].second);
}

/// What is wrong with an interval: it must be at least a tenth of a second and at most a day.
std::string wrong_as_interval(const std::string& text) { return report::wrong_as_number(text, 0.1, 86'400); }

}  // namespace

void add_report(Command root, Invocation& invocation) {
  auto of = std::make_shared<ReportCommand>();
  Command command = root.add("report", "Show where the time of an experiment went, or of several");
  add_experiment(command, of->experiment,
                 "Experiment directory, profile of CUBE (.cubex), Caliper or TAU, or OTF2 archive");
  command
      .option("other", of->others,
              "A second one: what changed from the first to this one. More of them: means over all runs, and how much "
              "they differ")
      .type("EXPERIMENT");
  command.option("--format", of->format, "How to print").one_of(report::format_names()).shows_default();
  add_rows(command, of->request);
  command
      .option("--fold", of->folded,
              "Show the frames of this module that follow each other as one line, as those of language runtimes always "
              "are; none: not even those; may be repeated")
      .type("MODULE")
      .repeated();
  command.option("--rank", of->ranks, "Only these ranks, as in 0,4-7, or threads of them, as in 0.1; may be repeated")
      .type("LIST")
      .separated_by(',');
  add_threads(command, of->threads);
  command.option("-o,--output", of->output, "File to write instead of standard output").type("FILE");
  command
      .option("--watch", of->watch_s,
              "While the program runs, show the page again after so many seconds (see REFRAIN_SNAPSHOT)")
      .type("SECONDS")
      .check(wrong_as_interval);
  command.footer(
      "Values are sums over all locations (threads of all ranks), of several runs means over ranks.\n"
      "Exit status: 0 done, 1 wrong usage or not written, 2 the experiment cannot be read, or it is of another tool "
      "and "
      "lacks what is asked for, 4 done, but a part of it is damaged; what is missing is named.");
  command.when_chosen([of, &invocation] {
    std::string state;
    invocation.exit_code = of->watch_s ? watch(*of) : run(*of, state);
  });
}

}  // namespace refrain::tools

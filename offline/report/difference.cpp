#include "offline/report/difference.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "offline/analysis/run_series.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/report/json_tables.hpp"
#include "offline/report/table_page.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

using analysis::CallTree;
using analysis::PathKind;

struct OfRun {
  double exclusive_s = 0, inclusive_s = 0, error_s = 0, calls = 0;
};

struct Changed {
  std::vector<std::string> path;
  PathKind kind = PathKind::User;
  OfRun before, now;

  double difference_s() const { return now.exclusive_s - before.exclusive_s; }
  double error_s() const { return std::hypot(before.error_s, now.error_s); }
};

struct Side {
  std::shared_ptr<const experiment::Experiment> experiment;
  CallTree tree;
  double ranks = 1, elapsed_s = 0;  ///< elapsed: the mean over ranks
};

Side side_of(const std::shared_ptr<const experiment::Experiment>& experiment, const Options& options,
             analysis::Symbolizer& symbolizer) {
  Side side{experiment, build_call_tree(*experiment, symbolizer, tree_options(options)), 1, 0};
  if (options.some_threads() && side.tree.locations.empty()) refuse_threads(*experiment, options);
  std::map<std::int32_t, const analysis::LocationSummary*> first;  // of the chosen threads of each rank
  for (const analysis::LocationSummary& of : side.tree.locations)
    if (const auto [at, is_new] = first.try_emplace(of.rank, &of); !is_new && of.thread < at->second->thread)
      at->second = &of;
  side.ranks = static_cast<double>(std::max<std::size_t>(first.size(), 1));
  for (const auto& [rank, of] : first) side.elapsed_s += of->wall_s / side.ranks;
  return side;
}

/// Of time that was not on a CPU the bounds are known: as if all between them were as likely.
double error_of(const Side& side, const analysis::TreeNode& node) {
  const analysis::Totals& totals = side.tree.totals;
  if (node.name == analysis::not_on_cpu_name && node.parent == 0)
    return (totals.not_on_cpu_high_s - totals.not_on_cpu_low_s) / std::sqrt(12.0);
  return node.exclusive_error_s;
}

/// Per rank. The largest difference first.
std::vector<Changed> changes(const Side& before, const Side& now) {
  std::map<std::pair<std::vector<std::string>, PathKind>, Changed> all;
  const auto add = [&](const Side& side, OfRun Changed::*part) {
    for (std::uint32_t i = 1; i < side.tree.nodes.size(); ++i) {
      const analysis::TreeNode& node = side.tree.nodes[i];
      std::vector<std::string> path = path_to(side.tree, i);
      Changed& to = all[{path, node.kind}];
      to.path = std::move(path);
      to.kind = node.kind;
      OfRun& of = to.*part;
      of.exclusive_s += node.exclusive_s / side.ranks;
      of.inclusive_s += node.inclusive_s / side.ranks;
      of.error_s = std::hypot(of.error_s, error_of(side, node) / side.ranks);
      of.calls += static_cast<double>(node.exclusive[format::MetricId::Visits]) / side.ranks;
    }
  };
  add(before, &Changed::before);
  add(now, &Changed::now);
  std::vector<Changed> changed;
  for (auto& [key, of] : all) changed.push_back(std::move(of));
  std::ranges::stable_sort(changed, std::greater<>{}, [](const Changed& of) { return std::abs(of.difference_s()); });
  return changed;
}

/// One of a place and way of comparing.
std::vector<analysis::RunDifference> iteration_changes(const Side& before, const Side& now, double least_share) {
  if (before.ranks != now.ranks) return {};
  const std::vector<std::vector<analysis::RunSeries>> of_before{
      series_of_run(*before.experiment, before.tree, least_share)};
  auto all = compare_runs(series_of_run(*now.experiment, now.tree, least_share), of_before);
  std::erase_if(all, [](const auto& of) { return of.loop.empty() || of.by_means; });
  return all;
}

Table changes_table(const std::vector<Changed>& changed) {
  return {"callpaths",
          {{"path", Kind::Path},
           {"kind"},
           {"before_s", Kind::Seconds},
           {"now_s", Kind::Seconds},
           {"difference_s", Kind::Seconds},
           {"standard_error_s", Kind::Seconds},
           {"before_inclusive_s", Kind::Seconds},
           {"now_inclusive_s", Kind::Seconds},
           {"before_calls", Kind::Number},
           {"now_calls", Kind::Number}},
          [&changed](const TakeRow& take) {
            for (const Changed& of : changed)
              take({{of.path, name_of(of.kind), of.before.exclusive_s, of.now.exclusive_s, of.difference_s(),
                     of.error_s() > 0 ? Cell(of.error_s()) : Cell(), of.before.inclusive_s, of.now.inclusive_s,
                     of.before.calls, of.now.calls}});
          }};
}

Table iterations_table_of(const std::vector<analysis::RunDifference>& all) {
  return {"iterations",
          {{"loop"},
           {"path"},
           {"before_s", Kind::Seconds},
           {"now_s", Kind::Seconds},
           {"difference_s", Kind::Seconds},
           {"standard_error_s", Kind::Seconds},
           {"low_s", Kind::Seconds},
           {"high_s", Kind::Seconds}},
          [&all](const TakeRow& take) {
            for (const analysis::RunDifference& of : all)
              take({{of.loop, of.path, of.before, of.now, of.now - of.before, of.error, of.low, of.high}});
          }};
}

Table run_table(const char* name, const Side& side) {
  Table table{name,
              {{"directory"}, {"command"}, {"ranks", Kind::Count}, {"elapsed_s", Kind::Seconds}},
              [&side](const TakeRow& take) {
                take({{side.experiment->directory().string(), joined_command(side.experiment->manifest().command),
                       static_cast<std::int64_t>(side.ranks), side.elapsed_s}});
              }};
  table.shape = Table::Object;
  return table;
}

class DifferencePage : TextPage {
 public:
  DifferencePage(const Side& before, const Side& now, const Options& options, const Terminal& terminal)
      : TextPage(terminal), before_(before), now_(now), options_(options) {}

  std::string render(const std::vector<Changed>& changed, const std::vector<analysis::RunDifference>& iterations) {
    for (const Side* side : {&before_, &now_})
      wrapped(side == &before_ ? "before: " : "now:    ",
              fmt::format("{}, {}, {}, {}", side->experiment->directory().string(),
                          joined_command(side->experiment->manifest().command),
                          plural(static_cast<std::int64_t>(side->ranks), "rank", "ranks"), human_time(side->elapsed_s)),
              8);
    line();
    const double difference = now_.elapsed_s - before_.elapsed_s;
    wrapped(
        "",
        fmt::format("The run took {} per rank instead of {}, {} {} ({:+.1f} %).", human_time(now_.elapsed_s),
                    human_time(before_.elapsed_s), human_time(std::abs(difference)), difference < 0 ? "less" : "more",
                    before_.elapsed_s > 0 ? 100 * difference / before_.elapsed_s : 0),
        0, style_.strong);
    line();
    if (!iterations.empty()) {
      print_iterations(iterations);
      line();
    } else if (before_.ranks != now_.ranks) {
      wrapped("", "Iterations are not compared: the runs have different numbers of ranks.", 0, style_.faint);
      line();
    }
    print_changes(changed);
    return std::move(out_);
  }

 private:
  static std::string signed_time(double seconds) { return (seconds < 0 ? "-" : "+") + human_time(std::abs(seconds)); }

  void print_iterations(const std::vector<analysis::RunDifference>& all) {
    line(paint(style_.faint, right("before", 10) + right("now", 10) + right("change", 10) + right("95 % from", 11) +
                                 right("to", 10) + "  an iteration of"));
    for (const analysis::RunDifference& of : all) {
      const std::string what = of.path.empty() ? "loop " + of.loop : "  " + of.path;
      const std::string row = right(human_time(of.before), 10) + right(human_time(of.now), 10) +
                              right(signed_time(of.now - of.before), 10) + right(signed_time(of.low), 11) +
                              right(signed_time(of.high), 10) + "  ";
      const std::size_t room = width() > display_width(row) + 8 ? width() - display_width(row) : 8;
      const bool is_certain = of.low > 0 || of.high < 0;
      line(row + paint(is_certain ? style_.strong : "", fit_path(what, room, glyphs_.ellipsis)));
    }
    wrapped("",
            "Lower quartiles, which other processes hardly change. How much runs differ by chance is in no interval.",
            0, style_.faint);
  }

  void print_changes(const std::vector<Changed>& changed) {
    const double whole = std::max(before_.elapsed_s, now_.elapsed_s),
                 least = whole * options_.min_share.value_or(usual_min_share) / 100;
    line(paint(style_.faint, right("before", 10) + right("now", 10) + right("change", 10) +
                                 right(std::string(glyphs_.plus_minus), 10) + "  call path, its own time per rank"));
    std::size_t left_out = 0;
    analysis::ReadableNames readable;
    for (const Changed& of : changed)
      for (const std::string& name : of.path) readable.add(name);
    for (const Changed& of : changed) {
      if (std::abs(of.difference_s()) < least) {
        ++left_out;
        continue;
      }
      const std::string row = right(human_time(of.before.exclusive_s), 10) + right(human_time(of.now.exclusive_s), 10) +
                              right(signed_time(of.difference_s()), 10) +
                              right(of.error_s() > 0 ? human_time(of.error_s()) : "", 10) + "  ";
      const std::size_t room = width() > display_width(row) + 8 ? width() - display_width(row) : 8;
      std::vector<std::string> names;
      for (const std::string& name : of.path) names.push_back(readable.of(name));
      const bool is_certain = of.error_s() > 0 && std::abs(of.difference_s()) > 2 * of.error_s();
      line(row + paint(is_certain ? style_.strong : "", fit_path(joined_path(names), room, glyphs_.ellipsis)));
    }
    if (left_out > 0)
      wrapped("",
              fmt::format("{} changed by less than {} % of the run and {} not shown; --min-share 0 shows everything.",
                          plural(static_cast<std::int64_t>(left_out), "call path", "call paths"),
                          options_.min_share.value_or(usual_min_share), left_out == 1 ? "is" : "are"),
              0, style_.faint);
  }

  const Side &before_, &now_;
  const Options& options_;
};

}  // namespace

void render_difference(const std::shared_ptr<const experiment::Experiment>& before,
                       const std::shared_ptr<const experiment::Experiment>& now, const Options& options,
                       const Terminal& terminal, analysis::Symbolizer& symbolizer, const Sink& out) {
  if (const std::string option = first_view_option(options); !option.empty())
    throw UsageError(fmt::format("{}: of one experiment, not of the difference of two", option));
  constexpr const char* known[] = {"--callpath-depth", "--min-share", "--thread", "--sort", "--limit", "--columns"};
  for (const std::string& option : options_given(options)) {
    const bool is_of_tables = option == "--sort" || option == "--limit" || option == "--columns";
    if (std::ranges::find(known, option) == std::end(known) || (is_of_tables && options.format == Format::Text))
      throw UsageError(
          fmt::format("{}: of one experiment, not of the difference of two{}", option, is_of_tables ? " as text" : ""));
  }
  for (const auto& experiment : {before, now}) check_ranks(*experiment, options.ranks);
  const Side of_before = side_of(before, options, symbolizer), of_now = side_of(now, options, symbolizer);
  const std::vector<Changed> changed = changes(of_before, of_now);
  constexpr double least_share = 0.02;
  const bool has_iterations = options.ranks.empty() && !options.some_threads();
  const auto iterations =
      has_iterations ? iteration_changes(of_before, of_now, least_share) : std::vector<analysis::RunDifference>();
  switch (options.format) {
    case Format::Json:
      return write_json({run_table("before", of_before), run_table("now", of_now),
                         arranged(changes_table(changed), options), iterations_table_of(iterations)},
                        out);
    case Format::Tables: return options.table_format->write(arranged(changes_table(changed), options), out);
    case Format::Text: return out(DifferencePage(of_before, of_now, options, terminal).render(changed, iterations));
  }
}

}  // namespace refrain::report

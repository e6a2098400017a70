#include "offline/report/difference.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "offline/analysis/run_series.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/findings/sentence.hpp"
#include "offline/report/arrangement.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/print_tables.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"
#include "statistics/statistics.hpp"

namespace refrain::report {
namespace {

using analysis::CallTree;
using run::PathKind;

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

using Side = RunToCompare;

/// Only bounds are known of the time that was not on a CPU: all values between them are taken to be equally likely.
double error_of(const Side& side, const analysis::TreeNode& node) {
  const analysis::Totals& totals = side.tree.totals;
  if (node.name == run::not_on_cpu_name && node.parent == 0)
    return statistics::uniform_deviation(totals.not_on_cpu_high_s - totals.not_on_cpu_low_s);
  return node.exclusive_error_s;
}

/// Values per rank, the largest difference first.
std::vector<Changed> changes(const Side& before, const Side& now) {
  std::map<std::pair<std::vector<std::string>, PathKind>, Changed> all;
  const bool are_told_apart = before.tree.totals.off_cpu_is_told_apart && now.tree.totals.off_cpu_is_told_apart;
  const auto add = [&](const Side& side, OfRun Changed::*part) {
    for (std::uint32_t i = 1; i < side.tree.nodes.size(); ++i) {
      const analysis::TreeNode& node = side.tree.nodes[i];
      std::vector<std::string> path = path_to(side.tree, i);
      if (!are_told_apart && path.size() == 1 && run::is_off_cpu(path[0])) path[0] = run::not_on_cpu_name;
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
  for (auto& [key, of] : all) {
    // No sample does not mean no time: the error is one sampling period.
    if (of.kind == PathKind::User && of.before.exclusive_s == 0 && of.now.exclusive_s > 0)
      of.before.error_s = before.tree.period_s() / before.ranks;
    if (of.kind == PathKind::User && of.now.exclusive_s == 0 && of.before.exclusive_s > 0)
      of.now.error_s = now.tree.period_s() / now.ranks;
    changed.push_back(std::move(of));
  }
  std::ranges::stable_sort(changed, std::greater<>{}, [](const Changed& of) { return std::abs(of.difference_s()); });
  return changed;
}

/// An iteration of a loop, or of a call path in it, in both runs.
struct ChangedIteration {
  std::string loop, path;  ///< as in analysis::RunSeries
  double before_s = 0, now_s = 0;
  double error_s = 0, reach_s = 0;  ///< of the difference: standard error, half of the 95 % confidence interval
  double p = 0;                     ///< probability that chance makes this difference or a larger one
  double of_loop = 0;               ///< the difference, relative to the longer of the loop's two mean iterations

  double difference_s() const { return now_s - before_s; }
};

constexpr double false_alarms = 0.05;  ///< probability of any, over all that is compared together (Bonferroni)

using Names = std::set<std::pair<std::string, std::string>>;

Names names_of(const std::vector<analysis::RunSeries>& all) {
  Names names;
  for (const analysis::RunSeries& of : all) names.emplace(of.loop, of.path);
  return names;
}

const analysis::RunSeries* series_of(const std::vector<analysis::RunSeries>& all, const std::string& loop,
                                     const std::string& path) {
  const auto at = std::ranges::find_if(all, [&](const auto& of) { return of.loop == loop && of.path == path; });
  return at == all.end() ? nullptr : &*at;
}

/// `period_s`: the sampling period per iteration of the run with fewer iterations; the error where a run has no value.
ChangedIteration changed_iteration(const analysis::RunSeries* before, const analysis::RunSeries* now, double period_s) {
  analysis::RunSeries none;
  none.mean = {0, period_s, 2};
  const analysis::RunSeries &of_before = before ? *before : none, &of_now = now ? *now : none;
  const analysis::BatchValue difference = difference_of_means(of_before, of_now);
  const double error_s = difference.error;
  return {before ? before->loop : now->loop,
          before ? before->path : now->path,
          of_before.mean.value,
          of_now.mean.value,
          error_s,
          statistics::half_of_interval(error_s, difference.degrees),
          statistics::student_beyond(difference.value, error_s, difference.degrees),
          0};
}

/// Changes of the loops that both runs have. A call path that one of them lacks takes no time there.
std::vector<ChangedIteration> iteration_changes(const Side& before, const Side& now, double least_share) {
  if (before.ranks != now.ranks || !before.experiment || !now.experiment) return {};
  auto of_before = series_of_run(*before.experiment, before.tree, least_share);
  const auto of_now = series_of_run(*now.experiment, now.tree, least_share, names_of(of_before));
  Names names = names_of(of_now);
  if (names != names_of(of_before)) of_before = series_of_run(*before.experiment, before.tree, least_share, names);
  names.merge(names_of(of_before));
  const double period_s = std::max(before.tree.period_s(), now.tree.period_s());
  std::vector<ChangedIteration> all;
  for (const auto& [loop, path] : names) {
    const analysis::RunSeries *loop_before = series_of(of_before, loop, ""), *loop_now = series_of(of_now, loop, "");
    if (loop.empty() || !loop_before || !loop_now || loop_before->mean.batches == 0 || loop_now->mean.batches == 0)
      continue;
    const std::int64_t fewest = std::max<std::int64_t>(std::min(loop_before->iterations, loop_now->iterations), 1);
    ChangedIteration& of =
        all.emplace_back(changed_iteration(series_of(of_before, loop, path), series_of(of_now, loop, path),
                                           period_s / before.ranks / static_cast<double>(fewest)));
    const double longer_s = std::max(loop_before->mean.value, loop_now->mean.value);
    of.of_loop = longer_s > 0 ? of.difference_s() / longer_s : 0;
  }
  // The loop itself first, then the largest changes.
  std::ranges::stable_sort(all, {}, [](const ChangedIteration& of) {
    return std::tuple(of.loop, !of.path.empty(), -std::abs(of.difference_s()));
  });
  return all;
}

/// Whether a run can have this finding: a run that does not tell causes of time off the CPU apart has others for it.
bool is_told(const Side& side, const findings::Finding& of) {
  const bool is_part = of.rule == "waiting_for_core" || of.rule == "blocked", is_whole = of.rule == "shared_core";
  const bool is_told_apart = side.tree.totals.off_cpu_is_told_apart;
  return is_part ? is_told_apart : !is_whole || !is_told_apart;
}

/// A finding of either run, with its share in each; below 0: it does not stand out there.
struct StandsOut {
  const findings::Finding* of;
  double before = -1, now = -1;
};

std::vector<StandsOut> findings_of_both(const Side& before, const Side& now) {
  std::vector<StandsOut> all;
  const auto add = [&](const findings::Finding& of, double StandsOut::*share) {
    if (!(of.share > 0)) return;
    auto at = std::ranges::find_if(all, [&](const StandsOut& other) { return is_same_kind(of, *other.of); });
    if (at == all.end()) at = all.insert(at, {&of});
    (*at).*share = std::max((*at).*share, of.share);
  };
  for (const findings::Finding& of : now.findings) add(of, &StandsOut::now);
  for (const findings::Finding& of : before.findings) add(of, &StandsOut::before);
  std::ranges::stable_sort(all, std::greater<>{}, [](const StandsOut& of) {
    return std::abs(std::max(of.now, 0.0) - std::max(of.before, 0.0));
  });
  return all;
}

Table changes_table(const std::vector<Changed>& changed, bool has_calls) {
  return {"callpaths",
          columns("path, kind, before_s, now_s, difference_s, standard_error_s, before_inclusive_s, now_inclusive_s, "
                  "before_calls, now_calls"),
          rows_of(changed, [has_calls](const Changed& of) -> Row {
            return {{of.path, name_of(of.kind), of.before.exclusive_s, of.now.exclusive_s, of.difference_s(),
                     of.error_s() > 0 ? Cell(of.error_s()) : Cell(), of.before.inclusive_s, of.now.inclusive_s,
                     has_calls ? Cell(of.before.calls) : Cell(), has_calls ? Cell(of.now.calls) : Cell()}};
          })};
}

Table iterations_table_of(const std::vector<ChangedIteration>& all) {
  return {"iterations", columns("loop, path, before_s, now_s, difference_s, standard_error_s, low_s, high_s"),
          rows_of(all, [](const ChangedIteration& of) -> Row {
            return {{of.loop, of.path, of.before_s, of.now_s, of.difference_s(), of.error_s,
                     of.difference_s() - of.reach_s, of.difference_s() + of.reach_s}};
          })};
}

Table run_table(const char* name, const Side& side) {
  return object_of(
      name, columns("directory, command, ranks, ranks_expected, elapsed_s, saw_whole, why"),
      {{side.name, side.about, static_cast<std::int64_t>(side.ranks), static_cast<std::int64_t>(side.ranks_expected),
        side.elapsed_s, side.lacks.empty(), side.lacks.empty() ? Cell() : Cell(side.lacks)}});
}

class DifferencePage : TextPage {
 public:
  DifferencePage(const Side& before, const Side& now, const Request& request, const Terminal& terminal)
      : TextPage(terminal), before_(before), now_(now), request_(request) {}

  std::string render(const std::vector<Changed>& changed, const std::vector<ChangedIteration>& iterations,
                     const std::vector<std::string>& notes) {
    for (const std::string& note : notes) warning(note);
    if (!notes.empty()) line();
    for (const Side* side : {&before_, &now_})
      wrapped(side == &before_ ? "before: " : "now:    ",
              fmt::format("{}, {}, {}, {}", side->name, side->about, ranks_of(*side), human_time(side->elapsed_s)), 8);
    line();
    const double difference = now_.elapsed_s - before_.elapsed_s;
    const std::string change =
        difference == 0
            ? std::string("the same")
            : fmt::format("{} {} ({:+.1f} %)", human_time(std::abs(difference)), difference < 0 ? "less" : "more",
                          before_.elapsed_s > 0 ? 100 * difference / before_.elapsed_s : 0);
    wrapped("",
            fmt::format("The run took {} per rank instead of {}, {}.", human_time(now_.elapsed_s),
                        human_time(before_.elapsed_s), change),
            0, style_.strong);
    line();
    print_findings();
    if (!iterations.empty()) {
      print_iterations(iterations, before_.ranks > analysis::most_ranks_of_series);
      line();
    } else if (before_.experiment && before_.ranks != now_.ranks && has_loops(before_) && has_loops(now_)) {
      wrapped("",
              fmt::format("Iterations are not compared: {}.", before_.ranks_expected == now_.ranks_expected
                                                                  ? "one of the runs lacks ranks"
                                                                  : "the runs have different numbers of ranks"),
              0, style_.faint);
      line();
    }
    print_changes(changed);
    return std::move(out_);
  }

 private:
  static bool has_loops(const Side& side) {
    return std::ranges::any_of(side.tree.nodes, [](const analysis::TreeNode& of) { return of.marked; });
  }
  static std::string signed_time(double seconds) { return (seconds < 0 ? "-" : "+") + human_time(std::abs(seconds)); }

  void print_findings() {
    constexpr std::size_t most = 5;
    const auto all = findings_of_both(before_, now_);
    if (all.empty()) return;
    line(paint(style_.faint, right("before", 10) + right("now", 10) + "  what stands out, with its share of the time"));
    bool some_are_untold = false;
    const auto share = [&](double value, const Side& side, const findings::Finding& of) {
      const bool is_untold = value < 0 && !is_told(side, of);
      some_are_untold |= is_untold;
      const bool is_known = side.is_searched && !is_untold;
      return right(value >= 0 ? fmt::format("{:.1f} %", 100 * value) : is_known ? "-" : "?", 10);
    };
    for (std::size_t i = 0; i < all.size() && i < most; ++i) {
      const findings::Finding& of = *all[i].of;
      wrapped(share(all[i].before, before_, of) + share(all[i].now, now_, of) + "  ", sentence_of(of), 22);
    }
    if (some_are_untold)
      wrapped("", "?: one of the runs does not tell waiting for a core from being blocked.", 0, style_.faint);
    if (!before_.is_searched || !now_.is_searched)
      wrapped("", "?: events of one of the runs were not searched; there may be more.", 0, style_.faint);
    if (all.size() > most)
      wrapped("", fmt::format("{} more: --findings of each run.", all.size() - most), 0, style_.faint);
    line();
  }

  void print_iterations(const std::vector<ChangedIteration>& all, bool of_some_ranks) {
    constexpr double least = 0.005;
    line(paint(style_.faint, right("before", 10) + right("now", 10) + right("change", 10) + right("95 % from", 11) +
                                 right("to", 10) + "  an iteration of"));
    for (const ChangedIteration& of : all) {
      const bool is_certain = of.difference_s() != 0 && of.p * static_cast<double>(all.size()) < false_alarms;
      if (!of.path.empty() && (!is_certain || std::abs(of.of_loop) < least)) continue;
      const std::string what = of.path.empty() ? "loop " + of.loop : "  " + of.path;
      const std::string row = right(human_time(of.before_s), 10) + right(human_time(of.now_s), 10) +
                              right(signed_time(of.difference_s()), 10) +
                              right(signed_time(of.difference_s() - of.reach_s), 11) +
                              right(signed_time(of.difference_s() + of.reach_s), 10) + "  ";
      const std::size_t room = width() > display_width(row) + 8 ? width() - display_width(row) : 8;
      line(row + paint(is_certain ? style_.strong : "", fit_path(what, room, glyphs_.ellipsis)));
    }
    wrapped("",
            "Means over the iterations of each run, and call paths that have changed. The interval tells by how much "
            "iterations differ from those before them; how much runs differ by chance is in no interval." +
                (of_some_ranks ? fmt::format(" Of {} ranks of each run.", analysis::most_ranks_of_series) : ""),
            0, style_.faint);
  }

  /// The threshold in standard errors: what differs by less has not changed, as far as one can tell. By chance, one of
  /// all call paths together exceeds it in one of twenty comparisons.
  static double least_errors(std::size_t compared) {
    return statistics::normal_quantile(false_alarms / 2 / static_cast<double>(std::max<std::size_t>(compared, 1)));
  }

  void print_changes(const std::vector<Changed>& changed) {
    const double whole = std::max(before_.elapsed_s, now_.elapsed_s),
                 least = whole * request_.min_share.value_or(usual_min_share) / 100;
    const double errors = least_errors(changed.size());
    const auto is_within_error = [&](const Changed& of) { return std::abs(of.difference_s()) < errors * of.error_s(); };
    const auto is_left_out = [&](const Changed& of) {
      return least > 0 && (std::abs(of.difference_s()) < least || is_within_error(of));
    };
    if (std::ranges::all_of(changed, is_left_out)) {
      wrapped("",
              fmt::format("No call path changed by {} % of the run and by more than chance may; --min-share 0 shows "
                          "everything.",
                          request_.min_share.value_or(usual_min_share)),
              0, style_.faint);
      return;
    }
    line(paint(style_.faint, right("before", 10) + right("now", 10) + right("change", 10) +
                                 right(std::string(glyphs_.plus_minus), 10) + "  call path, its own time per rank"));
    std::size_t left_out = 0;
    analysis::ReadableNames readable;
    for (const Changed& of : changed)
      for (const std::string& name : of.path) readable.add(name);
    for (const Changed& of : changed) {
      if (is_left_out(of)) {
        ++left_out;
        continue;
      }
      const std::string row = right(human_time(of.before.exclusive_s), 10) + right(human_time(of.now.exclusive_s), 10) +
                              right(signed_time(of.difference_s()), 10) +
                              right(of.error_s() > 0 ? human_time(of.error_s()) : "", 10) + "  ";
      const std::size_t room = width() > display_width(row) + 8 ? width() - display_width(row) : 8;
      std::vector<std::string> names;
      for (const std::string& name : of.path) names.push_back(readable.of(name));
      const bool is_certain = of.error_s() > 0 && !is_within_error(of);
      line(row + paint(is_certain ? style_.strong : "", fit_path(joined_path(names), room, glyphs_.ellipsis)));
    }
    if (left_out > 0)
      wrapped(
          "",
          fmt::format("{} changed by less than {} % of the run, or than chance may, and {} not shown; --min-share 0 "
                      "shows everything.",
                      plural(static_cast<std::int64_t>(left_out), "call path", "call paths"),
                      request_.min_share.value_or(usual_min_share), left_out == 1 ? "is" : "are"),
          0, style_.faint);
  }

  const Side &before_, &now_;
  const Request& request_;
};

}  // namespace

void render_difference(const RunToCompare& before, const RunToCompare& now, const Request& request,
                       const Terminal& terminal, const Sink& out) {
  const std::vector<Changed> changed = changes(before, now);
  constexpr double least_share = 0.02;
  const bool has_iterations = request.ranks.empty() && !request.some_threads();
  const auto iterations =
      has_iterations ? iteration_changes(before, now, least_share) : std::vector<ChangedIteration>();
  const ComparedRun* const runs[] = {&before, &now};
  std::vector<std::string> notes = notes_on(runs);
  if (request.format == Format::Text)
    return out(DifferencePage(before, now, request, terminal).render(changed, iterations, notes));
  Table by_callpath = arranged(changes_table(changed, before.has_calls && now.has_calls), request);
  if (request.format != Format::Json) return print_tables({std::move(by_callpath)}, request.format, terminal, out);
  print_tables({run_table("before", before), run_table("now", now), table_of("findings_before", before.findings),
                table_of("findings_now", now.findings), std::move(by_callpath), iterations_table_of(iterations),
                object_of("", columns("notes"), {{std::move(notes)}})},
               request.format, terminal, out);
}

}  // namespace refrain::report

#include "offline/report/run_page.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

#include "offline/analysis/module_fold.hpp"
#include "offline/findings/sentence.hpp"
#include "offline/report/foreign_run.hpp"
#include "offline/report/idle_helpers.hpp"
#include "offline/report/metric_columns.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"
#include "offline/run/totals.hpp"

namespace refrain::report {

std::int64_t bytes_moved(const analysis::Counts& counts) {
  using format::MetricId;
  std::int64_t bytes = 0;
  for (const auto part : {MetricId::BytesSent, MetricId::BytesReceived, MetricId::BytesRead, MetricId::BytesWritten})
    bytes = format::add_saturating(bytes, counts[part]);
  return bytes;
}

std::string human_extra(const experiment::ExtraMetric& metric, std::int64_t value) {
  if (metric.unit == "ns") return human_time(value_of(metric, value));
  if (metric.scale != 1) return fmt::format("{:.4g}", value_of(metric, value));
  return metric.unit == "B" ? human_bytes(value) : human_count(value);
}

std::string RunPage::render() {
  warnings(d_);
  heading(d_);
  const bool is_first_page = d_.request.is_first_page() && d_.part.subject.empty();
  fitness(d_, is_first_page && !d_.foreign ? efficiency_line(d_, waits()) : "");
  findings();
  shares();
  view();
  footnotes();
  losses();
  return std::move(out_);
}

const std::vector<NodeWait>& RunPage::waits() {
  if (!waits_) waits_ = waits_of(d_);
  return *waits_;
}

/// Remarks that do not fit are dropped, the last ones first.
void RunPage::share_line(const std::string& label, double seconds, double of_first_threads,
                         std::vector<std::string> remarks) {
  // Time of all threads, including what the tree leaves out.
  double all_s = 0;
  for (const auto& of : d_.tree.locations) all_s += of.wall_s;
  const auto cells = [](double part, double whole) {
    const std::string share = percent(part, whole);
    return right(human_time(part), 10) + right(share, 8) + (share.empty() ? "     " : " %   ");
  };
  std::string text = left(" " + label, 14) + cells(seconds, all_s);
  if (has_helper_threads()) text += cells(of_first_threads, elapsed_s(d_.tree));
  std::erase(remarks, "");
  const auto remark = [&] { return fmt::format("{}", fmt::join(remarks, ", ")); };
  while (!remarks.empty() && display_width(text) + display_width(remark()) > width()) remarks.pop_back();
  line(text + paint(style_.faint, remark()));
}

namespace {

std::string how_sampled(const std::string& source) {
  if (source == "task_clock") return "by the task clock";
  if (source == "wall") return "by the wall clock";
  return source == "timer" ? "by the kernel's tick" : "";
}

}  // namespace

/// How much of the time in MPI is waiting, and how that is known.
std::string RunPage::about_waiting() {
  if (!d_.request.shows_call_tree()) return {};
  if (waits().empty())
    return d_.found.not_searched.empty() ? "waiting: not known"
                                         : fmt::format("waiting: not known ({})", d_.found.not_searched);
  using Method = NodeWait::Method;
  constexpr std::pair<Method, const char*> methods[] = {{Method::Events, "all events"},
                                                        {Method::Sampled, "events that were kept"},
                                                        {Method::Matched, "single messages"},
                                                        {Method::Minimum, "durations of calls"}};
  constexpr double worth_a_word = 0.01;
  std::map<Method, double> by_method_s;
  run::Estimate all;
  double untold_s = 0;
  for (std::size_t node = 0; node < waits().size(); ++node) {
    const NodeWait& of = waits()[node];
    by_method_s[of.method] += of.seconds;
    all += of;
    if (is_untold(d_.tree.nodes[node], of)) untold_s += d_.tree.nodes[node].exclusive_s;
  }
  std::vector<std::string> how;
  for (const auto& [method, words] : methods)
    if (by_method_s[method] > worth_a_word * all.seconds) how.emplace_back(words);
  if (untold_s > worth_a_word * wall()) how.push_back(fmt::format("not known of {} %", percent(untold_s, wall())));
  const double error_s = all.error_s();
  const bool has_error = error_s > worth_a_word * all.seconds;
  return fmt::format("of it waiting {}{}{}", human_time(all.seconds), has_error ? " +- " + human_time(error_s) : "",
                     how.empty() ? "" : fmt::format(" ({})", fmt::join(how, "; ")));
}

std::vector<std::string> RunPage::about_mpi() {
  const analysis::Totals& t = d_.tree.totals;
  if (t.mpi_calls == 0) return {};
  // A rank that yields while it waits for a message does not wait for a core.
  constexpr double least = 0.01;
  return {about_waiting(), plural(t.mpi_calls, "call", "calls"),
          t.mpi_off_cpu_s > least * t.mpi_s ? fmt::format("off the CPU for {}", human_time(t.mpi_off_cpu_s)) : ""};
}

/// Threads that wait for work most of the time make shares of all threads say little: the ranks' first threads are
/// shown beside the sum.
bool RunPage::has_helper_threads() const {
  const double first_s = elapsed_s(d_.tree);
  return first_s > 0 && std::ranges::any_of(d_.tree.locations, [](const auto& of) { return of.thread != 0; });
}

void RunPage::shares() {
  const analysis::Totals& t = d_.tree.totals;
  // Sums over all threads, including time that the tree leaves out.
  analysis::Times all, first;
  double untold_low_s = 0, untold_high_s = 0;
  for (const auto& of : d_.tree.locations) {
    const double told_s = of.waited_for_core_s + of.blocked_s;
    untold_low_s += std::max(of.not_on_cpu_low_s - told_s, 0.0);
    untold_high_s += std::max(of.not_on_cpu_high_s - told_s, 0.0);
    all += of;
    if (of.thread == 0) first += of;
  }
  std::string head = left("", 14) + right("time", 10) + right("share", 10);
  if (has_helper_threads()) head = left("", 14) + right("all threads", 20) + right("first of each rank", 26);
  line(paint(style_.faint, head));
  if (d_.foreign) return shares_of_foreign(first);
  const Overview& o = d_.overview;
  if (!o.without_mpi) share_line("MPI", t.mpi_s, first.mpi_s, about_mpi());
  const auto off_s = [](const analysis::Times& of) { return of.waited_for_core_s + of.blocked_s + of.off_untold_s; };
  share_line("user code", std::max(t.user_s - off_s(all), 0.0), std::max(first.user_s - off_s(first), 0.0),
             {plural(t.ticks_user, "sample", "samples"), how_sampled(o.sampling_source)});
  if (all.waited_for_core_s > 0 || all.blocked_s > 0) {
    share_line("no core", all.waited_for_core_s, first.waited_for_core_s);
    share_line("blocked", all.blocked_s, first.blocked_s, {"sleep, locks, files, page faults"});
  }
  if (!t.off_cpu_is_counted || all.off_untold_s > 0)
    share_line("not on CPU", all.off_untold_s, first.off_untold_s,
               {human_time(untold_low_s) != human_time(untold_high_s)
                    ? fmt::format("between {} and {}", human_time(untold_low_s), human_time(untold_high_s))
                    : ""});
  const auto cost = [&](format::OwnTime of, const experiment::Cost& calibrated, const char* what) {
    const OwnTimeLine& timed = o.own_times[static_cast<std::size_t>(of)];
    if (timed.timed == 0) return fmt::format("{} per {}", human_time(calibrated.median * 1e-9), what);
    const std::string mean = fmt::format("{} per {}", human_time(timed.mean_ns * 1e-9), what);
    return timed.error_ns > 0 ? fmt::format("{} (+- {})", mean, human_time(timed.error_ns * 1e-9)) : mean;
  };
  const bool has_ticks = t.ticks_user + t.ticks_mpi + t.ticks_without_sample > 0;
  share_line("Refrain", t.refrain_s, first.refrain_s,
             {t.mpi_calls > 0 ? cost(format::OwnTime::Call, o.call_cost_ns, "MPI call") : "",
              has_ticks ? cost(format::OwnTime::Tick, o.tick_cost_ns, "tick") : ""});
  if (t.stopped_s > 0) share_line("off", t.stopped_s, first.stopped_s, {"stopped by the program (MPI_Pcontrol)"});
  line();
}

/// The classes of time that other tools know.
void RunPage::shares_of_foreign(const analysis::Times& first) {
  const analysis::Totals& t = d_.tree.totals;
  const bool has_mpi = std::ranges::any_of(d_.tree.nodes, [](const auto& of) { return of.kind == run::PathKind::Mpi; });
  std::vector<std::string> about{"no call of MPI was recorded"};
  if (has_mpi) {
    const bool has_calls = d_.foreign->has(format::MetricId::Visits);
    const auto moved = [&](format::MetricId metric, const char* word) {
      return d_.foreign->has(metric) ? fmt::format("{} {}", human_bytes(t.counts[metric]), word) : "";
    };
    about = {has_calls ? plural(t.mpi_calls, "call", "calls") : "calls: not known",
             moved(format::MetricId::BytesSent, "sent"), moved(format::MetricId::BytesReceived, "received"),
             "waiting: not known"};
  }
  share_line("MPI", t.mpi_s, first.mpi_s, std::move(about));
  share_line("user code", t.user_s, first.user_s);
  constexpr double rounding = 1e-9;
  if (const double rest_s = t.wall_s - t.mpi_s - t.user_s; rest_s > rounding * t.wall_s)
    share_line("other", rest_s, first.wall_s - first.mpi_s - first.user_s, {"outside of regions"});
  line();
}

namespace {

/// Options, quoted for a shell.
std::string typed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool is_plain = !word.empty() && word.find_first_of(" \t\"'\\$`*?[](){}<>|&;!#~") == word.npos;
    std::string quoted = is_plain ? word : "'";
    if (!is_plain) {
      for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
      quoted += '\'';
    }
    text += (text.empty() ? "" : " ") + quoted;
  }
  return text;
}

}  // namespace

/// Puts the options that show more behind the last line of the text if they fit, otherwise on a line of their own.
void RunPage::with_options(const std::string& first, const std::string& text, const std::string& options) {
  const std::size_t indent = display_width(first), limit = text_width(indent);
  wrapped(first, text, indent, style_.strong);
  if (options.empty()) return;
  const std::size_t begin = out_.rfind('\n', out_.size() - 2) + 1;  // 0 for the first line
  const std::size_t used = display_width(std::string_view(out_).substr(begin)) - 1 -
                           (*style_.strong == '\0' ? 0 : display_width(style_.strong) + display_width(style_.plain));
  if (used + 2 + display_width(options) > limit)
    return wrapped(std::string(indent, ' '), options, indent, style_.faint);
  out_.pop_back();
  out_ += right(options, limit - used) + "\n";
}

namespace {

constexpr std::size_t width_of_share = 15;  // of "12.3 +- 0.4 %", behind a number of four columns

}  // namespace

void RunPage::finding(std::size_t number) {
  const findings::Finding& of = d_.found.findings[number];
  const std::string part = of.part_of ? fmt::format("; part of {}", *of.part_of + 1) : "";
  with_options(right(std::to_string(number + 1), 2) + "  " + left(share_text(of), width_of_share),
               sentence_of(of) + part, typed(options_of(of)));
}

void RunPage::findings() {
  const auto& all = d_.found.findings;
  constexpr std::ptrdiff_t most_lines = 6;
  const auto lines = [&] { return std::ranges::count(out_, '\n'); };
  const std::ptrdiff_t before = lines();
  std::int64_t left_out = 0;
  std::set<std::string> advised;
  for (std::size_t number = 0; number < all.size(); ++number) {
    // Findings without a share say what could not be seen, and are never left out.
    if (!d_.request.needs(Findings) && lines() - before >= most_lines && all[number].share > 0) {
      ++left_out;
      continue;
    }
    finding(number);
    const std::string advice = rule_of(all[number]).advice;
    if (d_.request.needs(Findings) && !advice.empty() && advised.insert(advice).second)
      wrapped(std::string(4 + width_of_share, ' '), advice + ".", 4 + width_of_share, style_.faint);
  }
  if (left_out > 0) with_options("    ", human_count(left_out) + " more", "--findings");
  if (!all.empty()) line();
}

void RunPage::footnotes() {
  if (folded_ > 0) {
    const std::string share = percent(folded_s_, wall());
    wrapped(" ",
            fmt::format("{} below {} % ({} together): --min-share 0",
                        plural(static_cast<std::int64_t>(folded_), folded_names().first, folded_names().second),
                        min_share_, share.empty() ? "no time" : share + " %"),
            1, style_.faint);
  }
  if (const double idle_s = idle_helpers_s(d_.tree); idle_s > 0 && !d_.request.asks(Show::Nodes))
    wrapped("",
            fmt::format("Shares of call paths are without {} in which helper threads were idle; those of findings are "
                        "of the time of first threads.",
                        human_time(idle_s)),
            0, style_.faint);
  folded_runtimes();
  totals_of_extra();
  constexpr double worth_a_word = 0.01, percent_of_share = 100;
  if (const double share = d_.overview.taken_share.value_or(0); share > worth_a_word)
    wrapped(
        "",
        fmt::format("Interrupts and the hypervisor took {:.1f} % of the cores' time. The part that hit these threads "
                    "counts as CPU time or, where the kernel tells it apart, as blocked.",
                    percent_of_share * share),
        0, style_.faint);
  if (!d_.overview.sampling_reason.empty())
    wrapped("",
            "Samples came at the kernel's tick (" + d_.overview.sampling_reason +
                "): what lasts less than a few milliseconds after a wait may be seen too often or too rarely.",
            0, style_.faint);
  more_footnotes();
}

/// Names frames that were folded, which a reader would otherwise look for.
void RunPage::folded_runtimes() {
  if (!d_.request.fold.runtimes) return;
  for (const analysis::TreeNode& node : d_.tree.nodes)
    if (analysis::is_fold_of_runtime(node.name))
      return wrapped("", node.name + ": frames of it that follow each other are one; --fold none shows each.", 0,
                     style_.faint);
}

/// Totals of the requested metrics, some of which may not fit beside the call paths.
void RunPage::totals_of_extra() {
  std::string text;
  for (std::size_t m = 0; m < d_.tree.extra_metrics.size(); ++m) {
    const experiment::ExtraMetric& metric = d_.tree.extra_metrics[m];
    text += fmt::format("{}{} {}", m == 0 ? "In all " : ", ", metric.name,
                        human_extra(metric, d_.tree.totals.counts.asked_for(m)));
  }
  if (!text.empty()) wrapped("", text + ".", 0, style_.faint);
}

void RunPage::losses() {
  if (d_.overview.losses.empty()) return;
  std::vector<std::string> all;
  for (const LossLine& of : d_.overview.losses)
    all.push_back(fmt::format("{} {} ({})",
                              of.is_time ? human_time(static_cast<double>(of.count) * 1e-9) : human_count(of.count),
                              of.name, of.help.substr(0, of.help.find(';'))));
  wrapped(paint(style_.warning, d_.part.subject.empty() ? "Not seen:" : "Not seen in the whole run:"),
          fmt::format("{}.", fmt::join(all, "; ")), 2);
}

}  // namespace refrain::report

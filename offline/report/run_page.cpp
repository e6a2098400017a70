#include "offline/report/run_page.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>

#include "offline/analysis/functions.hpp"
#include "offline/analysis/module_fold.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/report/idle_helpers.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"
#include "offline/run/totals.hpp"

namespace refrain::report {
namespace {

std::string words_of(const std::string& name, const analysis::ReadableNames& names) {
  if (name == run::waited_name) return "waiting for a core";
  if (name == run::blocked_name) return "time spent blocked";
  return name == run::not_on_cpu_name ? "threads not on a CPU" : names.of(name);
}

}  // namespace

std::int64_t bytes_moved(const analysis::Counts& counts) {
  using format::MetricId;
  std::int64_t bytes = 0;
  for (const auto part : {MetricId::BytesSent, MetricId::BytesReceived, MetricId::BytesRead, MetricId::BytesWritten})
    bytes = format::add_saturating(bytes, counts[part]);
  return bytes;
}

std::string human_extra(const experiment::ExtraMetric& metric, std::int64_t value) {
  if (metric.unit == "ns") return human_time(static_cast<double>(value) * 1e-9);
  return metric.unit == "B" ? human_bytes(value) : human_count(value);
}

std::string RunPage::render() {
  warnings(d_);
  heading(d_);
  shares();
  if (d_.request.is_first_page() && d_.part.subject.empty()) where_time_goes();
  findings();
  view();
  footnotes();
  losses();
  return std::move(out_);
}

void RunPage::share_line(const std::string& label, double seconds, double of_first_threads, const std::string& remark) {
  // All threads, with time that the tree leaves out.
  double all_s = 0;
  for (const auto& of : d_.tree.locations) all_s += of.wall_s;
  const auto cells = [](double part, double whole) {
    const std::string share = percent(part, whole);
    return right(human_time(part), 10) + right(share, 8) + (share.empty() ? "     " : " %   ");
  };
  std::string text = left(label, 14) + cells(seconds, all_s);
  if (has_helper_threads()) text += cells(of_first_threads, elapsed_s(d_.tree));
  const std::size_t used = display_width(text);
  // What does not fit is left out part by part.
  std::string shown = remark;
  while (!shown.empty() && used + display_width(shown) > width()) {
    const std::size_t part = shown.rfind(", ");
    shown = part == shown.npos ? std::string() : shown.substr(0, part);
  }
  line(text + paint(style_.faint, shown));
}

std::string RunPage::how_sampled() const {
  const std::string& source = d_.overview.sampling_source;
  if (source == "task_clock") return ", by the task clock";
  if (source == "wall") return ", by the wall clock";
  return source == "timer" ? ", by the kernel's tick" : "";
}

/// A rank that yields while it waits for a message does not wait for a core.
std::string RunPage::mpi_off_cpu() const {
  constexpr double least = 0.01;
  const analysis::Totals& t = d_.tree.totals;
  return t.mpi_off_cpu_s > least * t.mpi_s ? fmt::format(", off the CPU for {}", human_time(t.mpi_off_cpu_s)) : "";
}

/// Threads that wait for work most of the time say little by their share of all: the ranks' first threads stand beside
/// the sum.
bool RunPage::has_helper_threads() const {
  const double first_s = elapsed_s(d_.tree);
  return first_s > 0 && std::ranges::any_of(d_.tree.locations, [](const auto& of) { return of.thread != 0; });
}

void RunPage::shares() {
  const analysis::Totals& t = d_.tree.totals;
  // Of all threads, also with what the tree leaves out.
  analysis::Times all, first;
  double untold_low_s = 0, untold_high_s = 0;
  for (const auto& of : d_.tree.locations) {
    const double told_s = of.waited_for_core_s + of.blocked_s;
    untold_low_s += std::max(of.not_on_cpu_low_s - told_s, 0.0);
    untold_high_s += std::max(of.not_on_cpu_high_s - told_s, 0.0);
    all += of;
    if (of.thread == 0) first += of;
  }
  if (has_helper_threads())
    line(paint(style_.faint, left("", 14) + right("all threads", 20) + right("first of each rank", 26)));
  const std::size_t count = d_.tree.locations.size();
  double longest = 0;
  for (const auto& l : d_.tree.locations) longest = std::max(longest, l.wall_s);
  share_line("wall time", all.wall_s, first.wall_s,
             count > 1 ? fmt::format("sum of {} threads, the longest {}", count, human_time(longest)) : "");
  const Overview& o = d_.overview;
  if (!o.without_mpi)
    share_line("  MPI", t.mpi_s, first.mpi_s,
               t.mpi_calls > 0 ? plural(t.mpi_calls, "call", "calls") + mpi_off_cpu() : "");
  share_line("  user code", t.user_s, first.user_s, plural(t.ticks_user, "sample", "samples") + how_sampled());
  if (all.waited_for_core_s > 0 || all.blocked_s > 0) {
    share_line("    waiting", all.waited_for_core_s, first.waited_for_core_s, "for a core");
    share_line("    blocked", all.blocked_s, first.blocked_s, "sleep, locks, files, page faults");
  }
  if (!t.off_cpu_is_counted || all.off_untold_s > 0)
    share_line("    not on CPU", all.off_untold_s, first.off_untold_s,
               human_time(untold_low_s) != human_time(untold_high_s)
                   ? fmt::format("between {} and {}", human_time(untold_low_s), human_time(untold_high_s))
                   : "");
  const auto cost = [&](format::OwnTime of, const experiment::Cost& calibrated, const char* what) {
    const OwnTimeLine& timed = o.own_times[static_cast<std::size_t>(of)];
    if (timed.timed == 0) return fmt::format("{} per {}", human_time(calibrated.median * 1e-9), what);
    const std::string mean = fmt::format("{} per {}", human_time(timed.mean_ns * 1e-9), what);
    return timed.error_ns > 0 ? fmt::format("{} (+- {})", mean, human_time(timed.error_ns * 1e-9)) : mean;
  };
  std::string each = t.mpi_calls > 0 ? cost(format::OwnTime::Call, o.call_cost_ns, "MPI call") : "";
  if (t.ticks_user + t.ticks_mpi + t.ticks_without_sample > 0)
    each += (each.empty() ? "" : ", ") + cost(format::OwnTime::Tick, o.tick_cost_ns, "tick");
  share_line("  Refrain", t.refrain_s, first.refrain_s, each);
  if (t.stopped_s > 0) share_line("  off", t.stopped_s, first.stopped_s, "stopped by the program (MPI_Pcontrol)");
  line();
}

/// The functions that have most of it themselves.
void RunPage::where_time_goes() {
  constexpr std::size_t most = 3;
  constexpr double least = 0.05;
  auto functions = function_totals(d_.tree);
  if (functions.empty() || !(wall() > 0)) return;
  std::ranges::stable_sort(functions, std::greater<>{}, &analysis::FunctionTotals::exclusive_s);
  analysis::ReadableNames names;
  for (const auto& of : functions) names.add(of.name);
  std::vector<std::string> parts;
  for (const auto& of : functions) {
    if (parts.size() == most || of.exclusive_s < least * wall()) break;
    const std::string error = error_in_percent(of.exclusive_error_s, wall());
    parts.push_back(fmt::format("{} ({}{} %)", words_of(of.name, names),
                                percent(of.exclusive_s, wall(), of.exclusive_error_s),
                                error.empty() ? "" : fmt::format(" +- {}", error)));
  }
  if (parts.empty())
    wrapped("",
            fmt::format("No function has {:.0f} % of the time; {} has most of it.", 100 * least,
                        words_of(functions[0].name, names)),
            2);
  else
    wrapped("",
            fmt::format("{} goes to {}{}{}.",
                        idle_helpers_s(d_.tree) > 0 ? "Most time, but for idle helper threads," : "Most time",
                        fmt::join(parts.begin(), parts.end() - 1, ", "), parts.size() > 1 ? " and " : "", parts.back()),
            2);
}

namespace {

/// Options as a shell takes them.
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

void RunPage::findings() {
  const auto& all = d_.found.findings;
  constexpr std::ptrdiff_t most_lines = 6;
  const auto lines = [&] { return std::ranges::count(out_, '\n'); };
  const std::ptrdiff_t before = lines();
  std::size_t left_out = 0;
  for (const findings::Finding& of : all) {
    // What could not be seen costs nothing, and is to be known.
    if (!d_.request.needs(Findings) && lines() - before >= most_lines && of.share > 0) ++left_out;
    else
      wrapped("", of.more.empty() ? line_of(of) : fmt::format("{} ({})", line_of(of), typed(of.more)), 2,
              style_.strong);
  }
  if (left_out > 0)
    wrapped(
        "",
        fmt::format("{} (--findings).", plural(static_cast<std::int64_t>(left_out), "more finding", "more findings")),
        2);
  if (d_.request.is_first_page() || !all.empty()) line();
}

void RunPage::footnotes() {
  line();
  if (folded_ > 0) {
    const std::string share = percent(folded_s_, wall());
    wrapped("",
            fmt::format("{} below {} % {} not shown ({} in all): --min-share 0 shows everything.",
                        plural(static_cast<std::int64_t>(folded_), folded_names().first, folded_names().second),
                        min_share_, folded_ == 1 ? "is" : "are", share.empty() ? "no time" : share + " %"),
            0, style_.faint);
  }
  if (const double idle_s = idle_helpers_s(d_.tree); idle_s > 0 && !d_.request.asks(Show::Nodes))
    wrapped("",
            fmt::format("Threads other than the first of each rank were idle for {}; shares below the head leave that "
                        "out.{}",
                        human_time(idle_s),
                        d_.found.findings.empty() ? "" : " What stands out has shares of the first threads' time."),
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

/// Who does not know that frames were put together looks for them.
void RunPage::folded_runtimes() {
  if (!d_.request.fold.runtimes) return;
  for (const analysis::TreeNode& node : d_.tree.nodes)
    if (analysis::is_fold_of_runtime(node.name))
      return wrapped("", node.name + ": frames of it that follow each other are one; --fold none shows each.", 0,
                     style_.faint);
}

/// Of the whole run, or of the part that is shown: also those that found no room beside the call paths.
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
  const auto& losses = d_.overview.losses;
  if (losses.empty()) return;
  line();
  const auto size_of = [](const LossLine& loss) {
    return loss.is_time ? human_time(static_cast<double>(loss.count) * 1e-9) : human_count(loss.count);
  };
  if (losses.size() == 1)
    return wrapped(paint(style_.warning, "Missed by the measurement:"),
                   fmt::format("{} {}, {}", size_of(losses[0]), losses[0].name, losses[0].help), 2);
  line(paint(style_.warning, d_.part.subject.empty() ? "What the measurement missed:"
                                                     : "What the measurement missed in the whole run:"));
  std::size_t longest_name = 0;
  for (const LossLine& loss : losses) longest_name = std::max(longest_name, loss.name.size());
  constexpr std::size_t size_width = 13, least_help = 40;
  for (const LossLine& loss : losses) {
    const std::string size = right(size_of(loss), size_width - 2) + "  ";
    if (size_width + longest_name + 1 + least_help <= width())
      wrapped(size + left(loss.name, longest_name + 1), loss.help, size_width + longest_name + 1);
    else wrapped(size, loss.name + ", " + loss.help, size_width);
  }
}

}  // namespace refrain::report

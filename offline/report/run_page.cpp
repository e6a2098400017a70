#include "offline/report/run_page.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "offline/analysis/run_totals.hpp"
#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

constexpr std::size_t least_remark_width = 20;

}  // namespace

std::int64_t bytes_moved(const analysis::Counts& counts) {
  using format::MetricId;
  std::int64_t bytes = 0;
  for (const auto part : {MetricId::BytesSent, MetricId::BytesReceived, MetricId::BytesRead, MetricId::BytesWritten})
    bytes = analysis::add_saturating(bytes, counts[part]);
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
  findings();
  view();
  footnotes();
  losses();
  return std::move(out_);
}

void RunPage::share_line(const std::string& label, double seconds, const std::string& remark) {
  const std::string share = percent(seconds, wall());
  std::string text =
      left(label, 14) + right(human_time(seconds), 10) + right(share, 8) + (share.empty() ? "     " : " %   ");
  const std::size_t used = display_width(text);
  if (used + least_remark_width <= width()) text += paint(style_.faint, cut_to(remark, width() - used));
  line(text);
}

std::string RunPage::how_sampled() const {
  const std::string& source = d_.overview.sampling_source;
  if (source == "task_clock") return ", by the task clock";
  if (source == "wall") return ", by the wall clock";
  return source == "timer" ? ", by the kernel's tick" : "";
}

void RunPage::shares() {
  const analysis::Totals& t = d_.tree.totals;
  const std::size_t count = d_.tree.locations.size();
  double longest = 0;
  for (const auto& l : d_.tree.locations) longest = std::max(longest, l.wall_s);
  share_line("wall time", t.wall_s,
             count > 1 ? fmt::format("sum of {} threads, the longest {}", count, human_time(longest)) : "");
  const Overview& o = d_.overview;
  if (!o.without_mpi) share_line("  MPI", t.mpi_s, t.mpi_calls > 0 ? plural(t.mpi_calls, "call", "calls") : "");
  share_line("  user code", t.user_s, plural(t.ticks_user, "sample", "samples") + how_sampled());
  share_line("    not on CPU", t.not_on_cpu_s,
             t.not_on_cpu_high_s > 0 ? fmt::format("{}between {} and {}", o.not_on_cpu_uncertain ? "uncertain: " : "",
                                                   human_time(t.not_on_cpu_low_s), human_time(t.not_on_cpu_high_s))
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
  share_line("  Refrain", t.refrain_s, each);
  if (t.stopped_s > 0) share_line("  off", t.stopped_s, "stopped by the program (MPI_Pcontrol)");
  line();
}

void RunPage::findings() {
  for (const std::string& finding : d_.options.findings) wrapped("", finding, 2, style_.strong);
  if (!d_.options.findings.empty()) line();
}

void RunPage::footnotes() {
  line();
  if (folded_ > 0) {
    const std::string share = percent(folded_s_, wall());
    wrapped("",
            fmt::format("{} below {} % of the wall time {} not shown ({} in all); --min-share 0 shows everything.",
                        plural(static_cast<std::int64_t>(folded_), folded_names().first, folded_names().second),
                        d_.options.min_share.value_or(usual_min_share), folded_ == 1 ? "is" : "are",
                        share.empty() ? "no time" : share + " %"),
            0, style_.faint);
  }
  totals_of_extra();
  if (d_.overview.not_on_cpu_uncertain)
    wrapped("",
            "How much of the user code's time was not on a CPU cannot be trusted: threads waited for cores, or in "
            "MPI, and "
            "samples alone tell where. Shares of functions among themselves and all times of MPI are not touched.",
            0, style_.warning);
  if (!d_.overview.sampling_reason.empty())
    wrapped("",
            "Samples came at the kernel's tick (" + d_.overview.sampling_reason +
                "): what lasts less than a few milliseconds after a wait may be seen too often or too rarely.",
            0, style_.faint);
  more_footnotes();
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
  if (d_.overview.losses.empty()) return;
  line();
  line(paint(style_.warning, d_.part.subject.empty() ? "What the measurement missed:"
                                                     : "What the measurement missed in the whole run:"));
  std::size_t longest_name = 0;
  for (const LossLine& loss : d_.overview.losses) longest_name = std::max(longest_name, loss.name.size());
  for (const LossLine& loss : d_.overview.losses)
    wrapped(right(loss.is_time ? human_time(static_cast<double>(loss.count) * 1e-9) : human_count(loss.count), 11) +
                "  " + left(loss.name, longest_name + 1),
            loss.help, 14 + longest_name);
}

}  // namespace refrain::report

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "offline/analysis/names.hpp"
#include "offline/report/overview.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

using analysis::CallTree;
using analysis::PathKind;
using analysis::TreeNode;

constexpr std::size_t least_name_width = 30;
constexpr std::size_t least_remark_width = 20;

/// What was moved; what a call only completed has been counted where it was begun.
std::int64_t bytes_of(const analysis::Counts& counts) {
  std::int64_t bytes = 0;
  for (const std::int64_t part : {counts.bytes_sent, counts.bytes_received, counts.bytes_read, counts.bytes_written})
    bytes = analysis::add_values(bytes, part);
  return bytes;
}

/// Which numbers fit beside the names.
struct Columns {
  bool exclusive = true, calls = true, bytes = true, spread = true;
  std::vector<std::size_t> extra;  ///< widths, of as many of the metrics asked for as there is room for
  std::size_t extra_width() const { return std::accumulate(extra.begin(), extra.end(), std::size_t{0}); }
  std::size_t width() const {
    return 7 + 10 + 8 * exclusive + 12 * calls + 10 * bytes + extra_width() + 27 * spread + 2;
  }
};

class TextReport : TextPage {
 public:
  TextReport(const Document& document, const Terminal& terminal) : TextPage(terminal), d_(document) {}

  std::string run() {
    warnings(d_);
    heading(d_);
    shares();
    if (d_.options.flat) flat();
    else call_tree();
    footnotes();
    losses();
    return std::move(out_);
  }

 private:
  double wall() const { return d_.tree.totals.wall_s; }
  double least_time() const { return wall() * d_.options.min_share.value_or(usual_min_share) / 100; }
  void share_line(const std::string& label, double seconds, const std::string& remark = "") {
    const std::string share = percent(seconds, wall());
    std::string text =
        left(label, 14) + right(human_time(seconds), 10) + right(share, 8) + (share.empty() ? "     " : " %   ");
    const std::size_t used = display_width(text);
    if (used + least_remark_width <= width()) text += paint(style_.faint, cut_to(remark, width() - used));
    line(text);
  }

  std::string how_sampled() const {
    const std::string& source = d_.overview.sampling_source;
    if (source == "task_clock") return ", by the task clock";
    if (source == "wall") return ", by the wall clock";
    return source == "timer" ? ", by the kernel's tick" : "";
  }

  void shares() {
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
    if (t.ticks_user + t.ticks_mpi + t.ticks_lost > 0)
      each += (each.empty() ? "" : ", ") + cost(format::OwnTime::Tick, o.tick_cost_ns, "tick");
    share_line("  Refrain", t.refrain_s, each);
    if (t.stopped_s > 0) share_line("  off", t.stopped_s, "stopped by the program (MPI_Pcontrol)");
    line();
  }

  // ---- call tree

  Columns choose_columns() const {
    Columns columns;
    const analysis::Counts& all = d_.tree.nodes[0].inclusive;
    columns.spread = d_.tree.locations.size() > 1;
    columns.calls = all.visits > 0;
    columns.bytes = bytes_of(all) > 0;
    const std::size_t names = least_name_width * (d_.options.callsites ? 2 : 1);  // call sites stand behind them
    for (const auto& metric : d_.tree.extra_metrics)
      columns.extra.push_back(std::max<std::size_t>(metric.name.size(), 9) + 2);
    if (columns.width() + names > width()) columns.spread = false;
    while (!columns.extra.empty() && columns.width() + names > width()) columns.extra.pop_back();
    for (bool* drop : {&columns.bytes, &columns.calls, &columns.exclusive})
      if (columns.width() + names > width()) *drop = false;
    return columns;
  }

  void call_tree() {
    columns_ = choose_columns();
    std::string head = right("incl %", 7);
    if (columns_.exclusive) head += right("excl %", 8);
    head += right("time", 10);
    if (columns_.calls) head += right("MPI calls", 12);
    if (columns_.bytes) head += right("bytes", 10);
    for (std::size_t m = 0; m < columns_.extra.size(); ++m)
      head += right(d_.tree.extra_metrics[m].name, columns_.extra[m]);
    if (columns_.spread) head += right("min", 9) + right("mean", 9) + right("max", 9);
    if (columns_.spread) {
      const std::string over = d_.tree.spread_over_threads ? "time over threads" : "time over ranks";
      line(paint(style_.faint, std::string(display_width(head) - 27, ' ') + right("-- " + over + " --", 27)));
    }
    line(paint(style_.faint, head + "  call path"));
    std::string program = "(all)";
    if (!d_.experiment.manifest.command.empty()) program = analysis::base_name(d_.experiment.manifest.command.front());
    print_node(0, "", program, 1);
    print_children(0, "");
  }

  void print_node(std::uint32_t index, const std::string& lines, const std::string& name, int repeats) {
    const TreeNode& node = d_.tree.nodes[index];
    print_row(node.inclusive_s, node.exclusive_s, node.inclusive, node.inclusive_extra, node.spread);
    std::string text = name, remark;
    if (repeats > 1) remark += fmt::format(" {}{}", glyphs_.times, repeats);
    if (node.mark_visits > 0)
      remark += fmt::format("  [{}, {}]", plural(node.mark_visits, "visit", "visits"), human_time(node.mark_s));
    if (node.exclusive.bytes_completed > 0)
      remark += fmt::format("  [completes {}]", human_bytes(node.exclusive.bytes_completed));
    if (d_.options.callsites) remark += site(node);
    const std::size_t used = columns_.width() + display_width(lines) + display_width(remark);
    text = fit_name(text, width() > used + 8 ? width() - used : 8, glyphs_.ellipsis);
    const char* style = node.kind == PathKind::Mpi                                      ? style_.mpi
                        : node.kind == PathKind::Other                                  ? style_.faint
                        : node.exclusive_s >= 10 * least_time() && node.exclusive_s > 0 ? style_.strong
                                                                                        : "";
    line(row_ + "  " + paint(style_.faint, lines) + paint(style, text) + paint(style_.faint, remark));
  }

  void print_row(double inclusive, double exclusive, const analysis::Counts& counts,
                 const std::vector<std::int64_t>& extra, const analysis::Spread& spread) {
    row_ = right(percent(inclusive, wall()), 7);
    if (columns_.exclusive) row_ += right(percent(exclusive, wall()), 8);
    row_ += right(human_time(inclusive), 10);
    const auto if_any = [](std::int64_t value, std::string text) { return value != 0 ? text : ""; };
    if (columns_.calls) row_ += right(if_any(counts.visits, human_count(counts.visits)), 12);
    const std::int64_t bytes = bytes_of(counts);
    if (columns_.bytes) row_ += right(if_any(bytes, human_bytes(bytes)), 10);
    for (std::size_t m = 0; m < columns_.extra.size(); ++m)
      row_ += right(if_any(extra[m], human_extra(d_.tree.extra_metrics[m], extra[m])), columns_.extra[m]);
    if (columns_.spread)
      row_ += paint(style_.faint, right(human_time(spread.min), 9) + right(human_time(spread.mean), 9) +
                                      right(human_time(spread.max), 9));
  }

  static std::string human_extra(const experiment::ExtraMetric& metric, std::int64_t value) {
    if (metric.unit == "ns") return human_time(static_cast<double>(value) * 1e-9);
    return metric.unit == "B" ? human_bytes(value) : human_count(value);
  }

  /// File and line; the place in the module where there are none, or where two call sites have the same.
  std::string site(const TreeNode& node) const {
    if (node.module.empty()) return "";
    const std::string place = fmt::format("{}+0x{:x}", analysis::base_name(node.module), node.offset);
    if (node.name == place) return "";
    if (node.file.empty()) return "  [" + place + "]";
    const auto& siblings = d_.tree.nodes[static_cast<std::size_t>(std::max(node.parent, 0))].children;
    const bool alone = std::none_of(siblings.begin(), siblings.end(), [&](std::uint32_t at) {
      const TreeNode& other = d_.tree.nodes[at];
      return other.name == node.name && other.file == node.file && other.line == node.line &&
             other.offset != node.offset;
    });
    const std::string line = fmt::format("{}:{}", analysis::base_name(node.file), node.line);
    return "  [" + line + (alone ? "]" : ", " + place + "]");
  }

  struct Shown {
    std::vector<std::uint32_t> children;  ///< by inclusive time; the pseudo paths of the top level last
    std::size_t folded = 0;
    double folded_s = 0;
  };

  Shown shown_children(std::uint32_t index) {
    Shown shown;
    for (const auto child : d_.tree.nodes[index].children) {
      const TreeNode& node = d_.tree.nodes[child];
      const bool always = index == 0 && node.kind == PathKind::Other;
      if (always || node.inclusive_s >= least_time()) {
        shown.children.push_back(child);
      } else {
        shown.folded += subtree_size(child);
        shown.folded_s += node.inclusive_s;
      }
    }
    std::stable_sort(shown.children.begin(), shown.children.end(), [&](std::uint32_t a, std::uint32_t b) {
      const TreeNode &x = d_.tree.nodes[a], &y = d_.tree.nodes[b];
      const bool x_last = index == 0 && x.kind == PathKind::Other, y_last = index == 0 && y.kind == PathKind::Other;
      return x_last != y_last ? y_last : x.inclusive_s > y.inclusive_s;
    });
    folded_ += shown.folded;
    folded_s_ += shown.folded_s;
    return shown;
  }

  std::size_t subtree_size(std::uint32_t root) const {
    std::size_t size = 0;
    std::vector<std::uint32_t> open{root};
    while (!open.empty()) {
      const auto& children = d_.tree.nodes[open.back()].children;
      open.pop_back();
      ++size;
      open.insert(open.end(), children.begin(), children.end());
    }
    return size;
  }

  void print_children(std::uint32_t index, const std::string& lines) {
    Shown shown = shown_children(index);
    // A call chain without branches stays in its column: programs are deep, terminals are not wide.
    while (index != 0 && shown.children.size() == 1 && shown.folded_s < least_time()) {
      index = shown.children[0];
      Shown next = shown_children(index);
      const std::string name = d_.tree.nodes[index].name;
      const std::uint32_t first = index;
      int repeats = 1;  // recursion: a run of equal names is one line
      while (!d_.options.callsites && next.children.size() == 1 && next.folded_s < least_time() &&
             d_.tree.nodes[next.children[0]].name == name && d_.tree.nodes[index].exclusive_s < least_time()) {
        index = next.children[0];
        next = shown_children(index);
        ++repeats;
      }
      print_node(first, lines, name, repeats);
      shown = std::move(next);
    }
    const bool fold_line = shown.folded > 0 && shown.folded_s >= least_time() && shown.folded_s > 0;
    for (std::size_t i = 0; i < shown.children.size(); ++i) {
      const bool last = i + 1 == shown.children.size() && !fold_line;
      print_node(shown.children[i], lines + (last ? glyphs_.last : glyphs_.branch),
                 d_.tree.nodes[shown.children[i]].name, 1);
      print_children(shown.children[i], lines + (last ? glyphs_.space : glyphs_.through));
    }
    if (!fold_line) return;
    row_ = right(percent(shown.folded_s, wall()), 7) + std::string(columns_.exclusive ? 8 : 0, ' ') +
           right(human_time(shown.folded_s), 10);
    line(left(row_, columns_.width()) +
         paint(style_.faint, lines + glyphs_.last + fmt::format("{} {} smaller", glyphs_.ellipsis, shown.folded)));
  }

  // ---- by function

  void flat() {
    const bool bytes = width() >= 90;
    std::string head = right("excl %", 7) + right("time", 10) + right("incl %", 8) + right("time", 10) +
                       right("MPI calls", 12) + right("samples", 9);
    if (bytes) head += right("sent", 10) + right("received", 10);
    line(paint(style_.faint, head + "  function"));
    const std::size_t name_width = std::max<std::size_t>(width() > 78 ? width() - (bytes ? 78 : 58) : 20, 20);
    for (const auto& f : d_.functions) {
      if (f.exclusive_s < least_time() && f.kind != PathKind::Other) {
        ++folded_;
        folded_s_ += f.exclusive_s;
        continue;
      }
      const auto if_any = [](std::int64_t value, std::string text) { return value != 0 ? text : ""; };
      std::string row = right(percent(f.exclusive_s, wall()), 7) + right(human_time(f.exclusive_s), 10) +
                        right(percent(f.inclusive_s, wall()), 8) + right(human_time(f.inclusive_s), 10) +
                        right(if_any(f.exclusive.visits, human_count(f.exclusive.visits)), 12) +
                        right(if_any(f.exclusive.samples, human_count(f.exclusive.samples)), 9);
      if (bytes)
        row += right(if_any(f.exclusive.bytes_sent, human_bytes(f.exclusive.bytes_sent)), 10) +
               right(if_any(f.exclusive.bytes_received, human_bytes(f.exclusive.bytes_received)), 10);
      const char* style = f.kind == PathKind::Mpi ? style_.mpi : f.kind == PathKind::Other ? style_.faint : "";
      line(row + "  " + paint(style, fit_name(f.name, name_width, glyphs_.ellipsis)));
    }
  }

  // ---- after the table

  void footnotes() {
    line();
    if (folded_ > 0) {
      const std::string share = percent(folded_s_, wall());
      wrapped("",
              fmt::format("{} below {} % of the wall time {} not shown ({} in all); --min-share 0 shows everything.",
                          d_.options.flat ? plural(static_cast<std::int64_t>(folded_), "function", "functions")
                                          : plural(static_cast<std::int64_t>(folded_), "call path", "call paths"),
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
    if (!d_.options.flat)
      wrapped("",
              "Times, calls and bytes (sent, received, read, written) include what is called. A line without a branch "
              "is called by the line above it alone.",
              0, style_.faint);
  }

  /// Of the whole run, or of the part that is shown: also those that found no room beside the call paths.
  void totals_of_extra() {
    std::string text;
    for (std::size_t m = 0; m < d_.tree.extra_metrics.size(); ++m) {
      const experiment::ExtraMetric& metric = d_.tree.extra_metrics[m];
      text +=
          fmt::format("{}{} {}", m == 0 ? "In all " : ", ", metric.name, human_extra(metric, d_.tree.totals.extra[m]));
    }
    if (!text.empty()) wrapped("", text + ".", 0, style_.faint);
  }

  void losses() {
    if (d_.overview.losses.empty()) return;
    line();
    line(paint(style_.warning,
               d_.subject.empty() ? "What the measurement missed:" : "What the measurement missed in the whole run:"));
    std::size_t longest_name = 0;
    for (const LossLine& loss : d_.overview.losses) longest_name = std::max(longest_name, loss.name.size());
    for (const LossLine& loss : d_.overview.losses)
      wrapped(right(loss.is_time ? human_time(static_cast<double>(loss.count) * 1e-9) : human_count(loss.count), 11) +
                  "  " + left(loss.name, longest_name + 1),
              loss.help, 14 + longest_name);
  }

  const Document& d_;
  Columns columns_;
  std::string row_;
  std::size_t folded_ = 0;
  double folded_s_ = 0;
};

}  // namespace

std::string text_report(const Document& document, const Terminal& terminal) {
  return TextReport(document, terminal).run();
}

}  // namespace refrain::report

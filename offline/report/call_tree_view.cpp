// Where the time went, by call path.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <numeric>

#include "offline/analysis/short_names.hpp"
#include "offline/report/metric_columns.hpp"
#include "offline/report/node_waits.hpp"
#include "offline/report/run_page.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"
#include "offline/symbols/names.hpp"

namespace refrain::report {
namespace {

using analysis::TreeNode;
using format::MetricId;
using run::PathKind;

constexpr std::size_t least_name_width = 30;

/// Which numbers fit beside the names.
struct Columns {
  bool error = true, exclusive = true, wait = true, calls = true, bytes = true, spread = true;
  std::vector<std::size_t> extra;  ///< widths, of as many of the metrics asked for as there is room for
  std::size_t extra_width() const { return std::accumulate(extra.begin(), extra.end(), std::size_t{0}); }
  std::size_t width() const {
    return 7 + 10 + 6 * error + 8 * exclusive + 8 * wait + 12 * calls + 10 * bytes + extra_width() + 27 * spread + 2;
  }
};

class CallTreePage : public RunPage {
 public:
  /// `lines_below`: so many of the page stand below the call tree.
  CallTreePage(const Document& document, const Terminal& terminal, std::ptrdiff_t lines_below)
      : RunPage(document, terminal), lines_below_(lines_below), is_screen_(terminal.is_screen) {}
  static constexpr std::ptrdiff_t most_lines = 40;

 private:
  std::pair<const char*, const char*> folded_names() const override { return {"call path", "call paths"}; }
  void more_footnotes() override {
    wrapped("", "Times, calls and bytes include what is called. A line without a branch is called by the one above.", 0,
            style_.faint);
    if (columns_.wait) wrapped("", "wait %: for other processes, " + how_waits_are_known(), 0, style_.faint);
  }

  std::string how_waits_are_known() const {
    using Method = NodeWait::Method;
    constexpr std::pair<Method, const char*> methods[] = {
        {Method::Events, "of all events"},
        {Method::Sampled, "an estimate from the events that were kept"},
        {Method::Matched, "an estimate from single messages"},
        {Method::Minimum, "what calls took longer than short ones of their kind"}};
    constexpr double worth_a_word = 0.01;
    struct Sum {
      double waiting_s = 0, known_s = 0, time_s = 0;
    };
    std::map<Method, Sum> by_method;
    double all = 0, polling = 0, untold = 0;
    for (std::size_t node = 0; node < waits_.size(); ++node) {
      const NodeWait& of = waits_[node];
      const double time = d_.tree.nodes[node].exclusive_s;
      Sum& sum = by_method[of.method];
      sum.waiting_s += of.seconds;
      sum.known_s += of.known_s;
      sum.time_s += time;
      all += of.seconds;
      if (of.kind == waits::polling_name) polling += of.seconds;
      if (is_untold(d_.tree.nodes[node], of)) untold += time;
    }
    std::string text;
    for (const auto& [method, words] : methods) {
      const Sum& of = by_method[method];
      if (of.waiting_s <= worth_a_word * all) continue;
      text += fmt::format("{}{}", text.empty() ? "" : "; where they tell nothing, ", words);
      if (const double known = of.time_s > 0 ? of.known_s / of.time_s : 1; known < 1 - worth_a_word)
        text += fmt::format(", which tell of {:.0f} % of these calls' time", 100 * known);
    }
    if (polling > worth_a_word * all) text += "; calls that tested and found nothing count as waiting";
    if (untold > worth_a_word * wall())
      text += fmt::format("; {} % of the time is in calls of which nothing tells whether they waited",
                          percent(untold, wall()));
    return text + " (--waits).";
  }

  Columns choose_columns() const {
    Columns columns;
    const analysis::Counts& all = d_.tree.nodes[0].inclusive;
    columns.spread = d_.tree.locations.size() > 1;
    columns.error = d_.tree.nodes[0].sampled_s > 0;
    columns.wait = !waiting_.empty() && waiting_[0] > 0;
    columns.calls = all[MetricId::Visits] > 0;
    columns.bytes = bytes_moved(all) > 0;
    const std::size_t names = least_name_width * (d_.request.callsites ? 2 : 1);  // call sites stand behind them
    for (const auto& metric : d_.tree.extra_metrics)
      columns.extra.push_back(std::max<std::size_t>(metric.name.size(), 9) + 2);
    if (columns.width() + names > width()) columns.spread = false;
    while (!columns.extra.empty() && columns.width() + names > width()) columns.extra.pop_back();
    for (bool* drop : {&columns.error, &columns.bytes, &columns.calls, &columns.wait, &columns.exclusive})
      if (columns.width() + names > width()) *drop = false;
    return columns;
  }

  void view() override {
    for (const TreeNode& node : d_.tree.nodes) names_.add(node.name);
    waits_ = waits_of(d_);
    for (const NodeWait& of : waits_) waiting_.push_back(of.seconds);
    // Parents come first.
    for (std::size_t node = waiting_.size(); node-- > 1;)
      waiting_[static_cast<std::size_t>(d_.tree.nodes[node].parent)] += waiting_[node];
    columns_ = choose_columns();
    if (!d_.request.min_share && is_screen_) fit_on_screen();
    std::string head = right("incl %", 7);
    if (columns_.error) head += right(std::string(glyphs_.plus_minus) + " %", 6);
    if (columns_.exclusive) head += right("excl %", 8);
    if (columns_.wait) head += right("wait %", 8);
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
    print_node(0, "", root_name(*d_.experiment), 1);
    print_children(0, "");
  }

  /// The page is to be seen at once: where it would be too long, more is left out.
  void fit_on_screen() {
    constexpr std::ptrdiff_t fewest_rows = 10;
    const std::ptrdiff_t rows = std::max(fewest_rows, most_lines - lines_below_ - std::ranges::count(out_, '\n'));
    for (const double share : {usual_min_share, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0}) {
      min_share_ = share;
      if (lines_of_tree() <= rows) return;
    }
  }

  /// As print_children() will print it, including the lines that sum up the smaller children of a call path.
  std::ptrdiff_t lines_of_tree() const {
    std::ptrdiff_t lines = 0;
    for (const TreeNode& node : d_.tree.nodes) {
      if (node.inclusive_s < least_time()) continue;
      double smaller_s = 0;
      for (const std::uint32_t child : node.children)
        if (const double seconds = d_.tree.nodes[child].inclusive_s; seconds < least_time()) smaller_s += seconds;
      lines += 1 + (smaller_s > 0 && smaller_s >= least_time());
    }
    return lines;
  }

  void print_node(std::uint32_t index, const std::string& lines, const std::string& name, int repeats) {
    const TreeNode& node = d_.tree.nodes[index];
    print_row(index);
    std::string text = name, remark;
    if (repeats > 1) remark += fmt::format(" {}{}", glyphs_.times, repeats);
    if (node.mark_visits > 0)
      remark += fmt::format("  [{}, {}{}]", plural(node.mark_visits, "visit", "visits"), human_time(node.mark_s),
                            off_cpu_of(node));
    if (node.exclusive[MetricId::BytesCompleted] > 0)
      remark += fmt::format("  [completes {}]", human_bytes(node.exclusive[MetricId::BytesCompleted]));
    if (node.name == run::not_on_cpu_name && node.parent == 0)
      if (const std::string text = bounds_of_not_on_cpu();
          columns_.width() + display_width(lines + name + text) <= width())
        remark += text;
    if (d_.request.callsites) remark += site(node);
    // Where a path is so deep that there is no room, the outer lines are left out, and as much of the remark.
    constexpr std::size_t least_name = 8;
    const std::size_t room = width() > columns_.width() + least_name ? width() - columns_.width() - least_name : 0;
    const std::string shown_lines = end_of(lines, room);
    const std::size_t left = room - display_width(shown_lines);
    // Of call sites the place tells them apart; else the name does.
    if (!d_.request.callsites) {
      const std::size_t for_name = std::min(display_width(text), least_name + left);
      remark = fit_words(remark, least_name + left - for_name, glyphs_.ellipsis);
    } else remark = fit_words(remark, left, glyphs_.ellipsis);
    text = fit_name(text, least_name + left - display_width(remark), glyphs_.ellipsis);
    const char* style = node.kind == PathKind::Mpi                                      ? style_.mpi
                        : node.kind == PathKind::Other                                  ? style_.faint
                        : node.exclusive_s >= 10 * least_time() && node.exclusive_s > 0 ? style_.strong
                                                                                        : "";
    line(row_ + "  " + paint(style_.faint, shown_lines) + paint(style, text) + paint(style_.faint, remark));
  }

  /// What is worth a word of a region's time off the CPU.
  static std::string off_cpu_of(const TreeNode& node) {
    constexpr double least = 0.01;
    std::string text;
    if (node.mark_waited_s.value_or(0) > least * node.mark_s)
      text += fmt::format(", {} waiting for a core", human_time(*node.mark_waited_s));
    if (node.mark_blocked_s.value_or(0) > least * node.mark_s)
      text += fmt::format(", {} blocked", human_time(*node.mark_blocked_s));
    return text;
  }

  /// Of versions that did not count it.
  std::string bounds_of_not_on_cpu() const {
    const analysis::Totals& totals = d_.tree.totals;
    if (totals.off_cpu_is_counted || !(totals.not_on_cpu_high_s > 0)) return {};
    const double told_s = totals.waited_for_core_s + totals.blocked_s;
    return fmt::format("  [{} to {}]", human_time(std::max(totals.not_on_cpu_low_s - told_s, 0.0)),
                       human_time(std::max(totals.not_on_cpu_high_s - told_s, 0.0)));
  }

  void print_row(std::uint32_t index) {
    const TreeNode& node = d_.tree.nodes[index];
    const analysis::Counts& counts = node.inclusive;
    const analysis::Spread& spread = node.spread;
    const double error = node.standard_error_s;
    row_ = right(percent(node.inclusive_s, wall(), error), 7);
    if (columns_.error) row_ += right(error_in_percent(error, wall()), 6);
    if (columns_.exclusive) row_ += right(percent(node.exclusive_s, wall(), node.exclusive_error_s), 8);
    if (columns_.wait) row_ += right(percent(waiting_[index], wall()), 8);
    row_ += right(human_time(node.inclusive_s, error), 10);
    const auto if_any = [](std::int64_t value, std::string text) { return value != 0 ? text : ""; };
    if (columns_.calls) row_ += right(if_any(counts[MetricId::Visits], human_count(counts[MetricId::Visits])), 12);
    const std::int64_t bytes = bytes_moved(counts);
    if (columns_.bytes) row_ += right(if_any(bytes, human_bytes(bytes)), 10);
    for (std::size_t m = 0; m < columns_.extra.size(); ++m)
      row_ += right(if_any(counts.asked_for(m), human_extra(d_.tree.extra_metrics[m], counts.asked_for(m))),
                    columns_.extra[m]);
    if (columns_.spread)
      row_ += paint(style_.faint, right(human_time(spread.min), 9) + right(human_time(spread.mean), 9) +
                                      right(human_time(spread.max), 9));
  }

  /// File and line; the place in the module where there are none, or where two call sites have the same.
  std::string site(const TreeNode& node) const {
    if (node.module.empty()) return "";
    const std::string place = fmt::format("{}+0x{:x}", symbols::base_name(node.module), node.offset);
    if (node.name == place) return "";
    if (node.file.empty()) return "  [" + place + "]";
    const auto& siblings = d_.tree.nodes[static_cast<std::size_t>(std::max(node.parent, 0))].children;
    const bool alone = std::none_of(siblings.begin(), siblings.end(), [&](std::uint32_t at) {
      const TreeNode& other = d_.tree.nodes[at];
      return other.name == node.name && other.file == node.file && other.line == node.line &&
             other.offset != node.offset;
    });
    const std::string line = fmt::format("{}:{}", symbols::base_name(node.file), node.line);
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
      if (node.inclusive_s >= least_time()) {
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
    fold(shown.folded, shown.folded_s);
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
      const std::string name = d_.tree.nodes[index].name;  // recursion is told by whole names
      const std::uint32_t first = index;
      int repeats = 1;  // recursion: a run of equal names is one line
      while (!d_.request.callsites && next.children.size() == 1 && next.folded_s < least_time() &&
             d_.tree.nodes[next.children[0]].name == name && d_.tree.nodes[index].exclusive_s < least_time()) {
        index = next.children[0];
        next = shown_children(index);
        ++repeats;
      }
      print_node(first, lines, names_.of(name), repeats);
      shown = std::move(next);
    }
    const bool fold_line = shown.folded > 0 && shown.folded_s >= least_time() && shown.folded_s > 0;
    for (std::size_t i = 0; i < shown.children.size(); ++i) {
      const bool last = i + 1 == shown.children.size() && !fold_line;
      print_node(shown.children[i], lines + (last ? glyphs_.last : glyphs_.branch),
                 names_.of(d_.tree.nodes[shown.children[i]].name), 1);
      print_children(shown.children[i], lines + (last ? glyphs_.space : glyphs_.through));
    }
    if (!fold_line) return;
    row_ = right(percent(shown.folded_s, wall()), 7) +
           std::string((columns_.error ? 6 : 0) + (columns_.exclusive ? 8 : 0) + (columns_.wait ? 8 : 0), ' ') +
           right(human_time(shown.folded_s), 10);
    const std::string text = lines + glyphs_.last + fmt::format("{} {} smaller", glyphs_.ellipsis, shown.folded);
    line(left(row_, columns_.width()) +
         paint(style_.faint, end_of(text, width() > columns_.width() ? width() - columns_.width() : 0)));
  }

  const std::ptrdiff_t lines_below_;
  const bool is_screen_;
  Columns columns_;
  std::vector<NodeWait> waits_;  ///< by node
  std::vector<double> waiting_;  ///< by node, with what is called; empty: not known
  analysis::ReadableNames names_;
  std::string row_;
};

/// Nothing where it is not known: of user code, and of functions of which nobody knows who waits in them.
void add_wait(const NodeWait& of, Row& row) {
  if (of.method == NodeWait::Method::None) row.cells.resize(row.cells.size() + 5);
  else
    row.cells.insert(row.cells.end(), {of.seconds, of.error_s, name_of(of.method),
                                       of.kind.empty() ? Cell() : Cell(of.kind), of.confidence});
}

}  // namespace

std::string call_tree_page(const Document& document, const Terminal& terminal) {
  constexpr std::ptrdiff_t usual_lines_below = 11;
  std::string page;
  // More to say of the numbers than usual, and many branches, leave less room for call paths.
  for (std::ptrdiff_t below = usual_lines_below, more = 1; more > 0 && below < CallTreePage::most_lines;
       below += more) {
    page = CallTreePage(document, terminal, below).render();
    more = document.request.min_share || !terminal.is_screen
               ? 0
               : std::ranges::count(page, '\n') - CallTreePage::most_lines;
  }
  return page;
}

Table call_paths_table(const Document& d) {
  const bool sites = d.request.has_callsites();
  const auto& tree = d.tree;
  std::vector<Column> columns = {{"id", Kind::Id, InJson},       {"parent", Kind::Id, InJson},
                                 {"path", Kind::Path},           {"kind"},
                                 {"exclusive_s", Kind::Seconds}, {"inclusive_s", Kind::Seconds}};
  add_count_columns(columns);
  for (const char* name : {"inclusive_min_s", "inclusive_mean_s", "inclusive_max_s", "inclusive_standard_error_s"})
    columns.push_back({name, Kind::Seconds});
  add_asked_for_columns(columns, tree, InJson | InCsv, {"metrics", "exclusive"});
  add_asked_for_columns(columns, tree, InJson, {"metrics", "inclusive"});
  columns.push_back({"visits", Kind::Count, InJson, "", {"region"}});
  columns.push_back({"wall_s", Kind::Seconds, InJson, "", {"region"}});
  columns.push_back({"waited_for_core_s", Kind::Seconds, InJson, "", {"region"}});
  columns.push_back({"blocked_s", Kind::Seconds, InJson, "", {"region"}});
  if (sites)
    for (const auto& [name, kind] :
         {std::pair("module", Kind::Text), {"file", Kind::Text}, {"line", Kind::Id}, {"offset", Kind::Id}})
      columns.push_back({name, kind});
  columns.push_back({"precision"});
  const auto waits = std::make_shared<const std::vector<NodeWait>>(waits_of(d));
  if (!waits->empty())
    columns.insert(columns.end(), {{"wait_s", Kind::Seconds},
                                   {"wait_error_s", Kind::Seconds},
                                   {"wait_method"},
                                   {"wait_kind"},
                                   {"wait_confidence", Kind::Share}});
  const auto rows = [&d, &tree, sites, waits](const TakeRow& take) {
    for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
      const TreeNode& node = tree.nodes[i];
      Row row{{std::int64_t{i}, std::int64_t{node.parent}, path_to(tree, i), name_of(node.kind), node.exclusive_s,
               node.inclusive_s}};
      add_counts(row, node.exclusive);
      for (const double value : {node.spread.min, node.spread.mean, node.spread.max}) row.cells.emplace_back(value);
      row.cells.emplace_back();
      if (run::has_standard_error(node.name)) row.cells.back() = node.standard_error_s;
      add_asked_for(row, tree, node.exclusive);
      add_asked_for(row, tree, node.inclusive);
      const auto known = [](std::optional<double> seconds) { return seconds ? Cell(*seconds) : Cell(); };
      if (node.marked)
        row.cells.insert(row.cells.end(),
                         {node.mark_visits, node.mark_s, known(node.mark_waited_s), known(node.mark_blocked_s)});
      else row.cells.resize(row.cells.size() + 4);
      if (sites)
        row.cells.insert(row.cells.end(),
                         {node.module, node.file, std::int64_t{node.line}, static_cast<std::int64_t>(node.offset)});
      row.cells.emplace_back(precision_of(d, node.kind, node.name));
      if (!waits->empty()) add_wait((*waits)[i], row);
      take(row);
    }
  };
  return {"callpaths", std::move(columns), rows};
}

}  // namespace refrain::report

// Where the time went, by call path.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <numeric>
#include <span>

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

/// The columns that fit beside the names.
struct Columns {
  bool error = true, exclusive = true, wait = true, calls = true, bytes = true;
  std::string spread;              ///< head of the minimum time; empty: the spread is not shown
  std::size_t time_width = 6;      ///< width of a time of the spread
  std::vector<std::size_t> extra;  ///< widths of as many of the requested metrics as there is room for
  std::size_t extra_width() const { return std::accumulate(extra.begin(), extra.end(), std::size_t{0}); }
  std::size_t width() const {
    return 7 + 10 + 6 * error + 8 * exclusive + 8 * wait + 12 * calls + 10 * bytes + extra_width() + spread_width() + 2;
  }
  std::size_t least_time_width() const { return std::max(spread.size(), time_width) + 2; }
  std::size_t spread_width() const { return spread.empty() ? 0 : least_time_width() + 2 * time_width + 3; }
};

class CallTreePage : public RunPage {
 public:
  /// `lines_below`: number of lines of the page below the call tree.
  CallTreePage(const Document& document, const Terminal& terminal, std::ptrdiff_t lines_below)
      : RunPage(document, terminal), lines_below_(lines_below), is_screen_(terminal.is_screen) {}
  static constexpr std::ptrdiff_t most_lines = 40;

 private:
  /// A line of the tree: a chain of call paths, each the only one that is shown below its predecessor.
  struct Line {
    std::vector<std::uint32_t> chain;
    std::string branches;
  };
  struct Layout {
    std::vector<Line> lines;
    std::size_t folded = 0;
    double folded_s = 0;
  };
  struct Children {
    std::vector<std::uint32_t> shown;  ///< by inclusive time; pseudo paths of the top level last
    std::size_t folded = 0;
    double folded_s = 0;
  };

  std::pair<const char*, const char*> folded_names() const override { return {"call path", "call paths"}; }

  Columns choose_columns() const {
    Columns columns;
    const analysis::Counts& all = d_.tree.nodes[0].inclusive;
    columns.error = d_.tree.nodes[0].sampled_s > 0;
    columns.wait = !waiting_.empty() && waiting_[0] > 0;
    columns.calls = all[MetricId::Visits] > 0;
    columns.bytes = bytes_moved(all) > 0;
    const std::size_t names = least_name_width * (d_.request.callsites ? 2 : 1);  // call sites follow the names
    for (const auto& metric : d_.tree.extra_metrics)
      columns.extra.push_back(std::max<std::size_t>(metric.name.size(), 9) + 2);
    const std::string longest = analysis::human_times({d_.tree.nodes[0].spread.max}).numbers[0];
    columns.time_width = std::max(columns.time_width, longest.size() + 2);
    if (d_.tree.locations.size() > 1)
      for (const char* head : {"time over {}: min", "{}: min", ""}) {
        columns.spread = fmt::format(fmt::runtime(head), d_.tree.spread_over_threads ? "threads" : "ranks");
        if (columns.width() + names <= width()) break;
      }
    while (!columns.extra.empty() && columns.width() + names > width()) columns.extra.pop_back();
    for (bool* drop : {&columns.error, &columns.bytes, &columns.calls, &columns.wait, &columns.exclusive})
      if (columns.width() + names > width()) *drop = false;
    return columns;
  }

  void view() override {
    for (const TreeNode& node : d_.tree.nodes) names_.add(node.name);
    for (const NodeWait& of : waits()) waiting_.push_back(of.seconds);
    // Parents come before their children.
    for (std::size_t node = waiting_.size(); node-- > 1;)
      waiting_[static_cast<std::size_t>(d_.tree.nodes[node].parent)] += waiting_[node];
    columns_ = choose_columns();
    find_named();
    Layout tree = layout();
    // The page should fit on a screen: if it is too long, more call paths are left out.
    constexpr std::ptrdiff_t fewest_rows = 10;
    const std::ptrdiff_t rows = std::max(fewest_rows, most_lines - lines_below_ - std::ranges::count(out_, '\n'));
    if (!d_.request.min_share && is_screen_)
      for (const double share : {1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0}) {
        if (std::ssize(tree.lines) <= rows) break;
        min_share_ = share;
        tree = layout();
      }
    print_head();
    for (const Line& of : tree.lines) print_line(of);
    fold(tree.folded, tree.folded_s);
  }

  /// Marks the call paths that a finding names: they are shown however small they are.
  void find_named() {
    is_named_.assign(d_.tree.nodes.size(), false);
    for (const findings::Finding& of : d_.found.findings) {
      for (const findings::Path& path : of.paths) mark_named(0, path);
      mark_named(0, of.cause.path);
    }
  }
  bool mark_named(std::uint32_t node, std::span<const std::string> path) {
    bool is_there = path.empty();
    for (const std::uint32_t child : d_.tree.nodes[node].children)
      if (!path.empty() && d_.tree.nodes[child].name == path[0]) is_there |= mark_named(child, path.subspan(1));
    if (is_there) is_named_[node] = true;
    return is_there;
  }

  bool is_small(double seconds) const { return seconds == 0 || seconds < least_time(); }

  Children children_of(std::uint32_t index) const {
    Children children;
    for (const auto child : d_.tree.nodes[index].children) {
      const TreeNode& node = d_.tree.nodes[child];
      if (index == 0 && is_in_head(node)) continue;
      if (node.inclusive_s >= least_time() || is_named_[child]) {
        children.shown.push_back(child);
      } else {
        children.folded += subtree_size(child);
        children.folded_s += node.inclusive_s;
      }
    }
    std::ranges::stable_sort(children.shown, [&](std::uint32_t a, std::uint32_t b) {
      const TreeNode &x = d_.tree.nodes[a], &y = d_.tree.nodes[b];
      const bool x_last = index == 0 && x.kind == PathKind::Other, y_last = index == 0 && y.kind == PathKind::Other;
      return x_last != y_last ? y_last : x.inclusive_s > y.inclusive_s;
    });
    return children;
  }
  /// Whether the time of the node has a line among the shares of the run.
  static bool is_in_head(const TreeNode& node) { return run::is_off_cpu(node.name) || node.name == run::refrain_name; }

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

  Layout layout() const {
    Layout tree;
    add_lines(children_of(0), "", true, tree);
    return tree;
  }

  void add_lines(const Children& children, const std::string& branches, bool is_top, Layout& tree) const {
    tree.folded += children.folded;
    tree.folded_s += children.folded_s;
    for (const std::uint32_t child : children.shown) {
      const bool is_last = child == children.shown.back();
      Line line{{child}, branches + (is_top ? "" : is_last ? glyphs_.last : glyphs_.branch)};
      Children next = children_of(child);
      while (is_one_with(line.chain, next)) {
        tree.folded += next.folded;
        tree.folded_s += next.folded_s;
        line.chain.push_back(next.shown[0]);
        next = children_of(next.shown[0]);
      }
      tree.lines.push_back(std::move(line));
      add_lines(next, branches + (is_top ? "" : is_last ? glyphs_.space : glyphs_.through), false, tree);
    }
  }

  /// A chain of call paths shares a line if each calls only the next one and has next to no other time, and if at most
  /// one of them is a region of the program. Programs are deep, terminals are not wide.
  bool is_one_with(const std::vector<std::uint32_t>& chain, const Children& next) const {
    return !d_.request.callsites && next.shown.size() == 1 && is_small(next.folded_s) &&
           is_small(d_.tree.nodes[chain.back()].exclusive_s) &&
           (region_of(chain) == nullptr || d_.tree.nodes[next.shown[0]].mark_visits == 0);
  }
  const TreeNode* region_of(const std::vector<std::uint32_t>& chain) const {
    for (const std::uint32_t node : chain)
      if (d_.tree.nodes[node].mark_visits > 0) return &d_.tree.nodes[node];
    return nullptr;
  }

  void print_head() {
    std::string head = right("incl %", 7);
    if (columns_.error) head += right(glyphs_.plus_minus, 6);
    if (columns_.exclusive) head += right("excl %", 8);
    if (columns_.wait) head += right("wait %", 8);
    head += right("time", 10);
    if (columns_.calls) head += right("MPI calls", 12);
    if (columns_.bytes) head += right("bytes", 10);
    for (std::size_t m = 0; m < columns_.extra.size(); ++m)
      head += right(d_.tree.extra_metrics[m].name, columns_.extra[m]);
    if (!columns_.spread.empty())
      head += right(columns_.spread, columns_.least_time_width()) + right("mean", columns_.time_width) +
              right("max", columns_.time_width) + "   ";
    line(paint(style_.faint, head + "  call path"));
  }

  /// A recursive call is printed once, with its number of levels: "solve > dive ×3".
  std::string name_of_chain(const std::vector<std::uint32_t>& chain) const {
    std::string text;
    for (std::size_t i = 0; i < chain.size();) {
      const std::string& name = d_.tree.nodes[chain[i]].name;
      std::size_t end = i + 1;
      while (end < chain.size() && d_.tree.nodes[chain[end]].name == name) ++end;
      text += (i == 0 ? "" : " > ") + names_.of(name);
      if (end - i > 1) text += fmt::format(" {}{}", glyphs_.times, end - i);
      i = end;
    }
    return text;
  }

  void print_line(const Line& of) {
    const TreeNode& node = d_.tree.nodes[of.chain.back()];
    const std::string row = cells_of(of.chain), name = name_of_chain(of.chain);
    std::string remark;
    if (const TreeNode* const region = region_of(of.chain))
      remark += fmt::format("  [{}, {}{}]", plural(region->mark_visits, "visit", "visits"), human_time(region->mark_s),
                            off_cpu_of(*region));
    if (node.exclusive[MetricId::BytesCompleted] > 0)
      remark += fmt::format("  [completes {}]", human_bytes(node.exclusive[MetricId::BytesCompleted]));
    if (d_.request.callsites) remark += site(node);
    // If there is no room for a deep path, its outer branches are left out, and the remark is cut to the rest.
    constexpr std::size_t least_name = 8;
    const std::size_t room = width() > columns_.width() + least_name ? width() - columns_.width() - least_name : 0;
    const std::string branches = end_of(of.branches, room);
    const std::size_t left = room - display_width(branches);
    // Call sites are told apart by their place, functions by their name.
    const std::size_t for_name = d_.request.callsites ? 0 : std::min(display_width(name), least_name + left);
    remark = fit_words(remark, d_.request.callsites ? left : least_name + left - for_name, glyphs_.ellipsis);
    const std::size_t room_of_name = least_name + left - display_width(remark);
    const std::string text = of.chain.size() > 1 ? fit_path(name, room_of_name, glyphs_.ellipsis)
                                                 : fit_name(name, room_of_name, glyphs_.ellipsis);
    const char* style = node.kind == PathKind::Mpi                                      ? style_.mpi
                        : node.kind == PathKind::Other                                  ? style_.faint
                        : node.exclusive_s >= 10 * least_time() && node.exclusive_s > 0 ? style_.strong
                                                                                        : "";
    line(row + "  " + paint(style_.faint, branches) + paint(style, text) + paint(style_.faint, remark));
  }

  /// A region's time off the CPU, if it is worth mentioning.
  static std::string off_cpu_of(const TreeNode& node) {
    constexpr double least = 0.01;
    std::string text;
    if (node.mark_waited_s.value_or(0) > least * node.mark_s)
      text += fmt::format(", {} waiting for a core", human_time(*node.mark_waited_s));
    if (node.mark_blocked_s.value_or(0) > least * node.mark_s)
      text += fmt::format(", {} blocked", human_time(*node.mark_blocked_s));
    return text;
  }

  /// Inclusive values are those of the first call path. The exclusive time is the sum over the chain: all but the last
  /// call path have next to none.
  std::string cells_of(const std::vector<std::uint32_t>& chain) const {
    const TreeNode& node = d_.tree.nodes[chain.front()];
    const analysis::Counts& counts = node.inclusive;
    const analysis::Spread& spread = node.spread;
    const double error = node.standard_error_s;
    double exclusive_s = 0, exclusive_error_s = 0;
    for (const std::uint32_t of : chain) {
      exclusive_s += d_.tree.nodes[of].exclusive_s;
      exclusive_error_s = std::hypot(exclusive_error_s, d_.tree.nodes[of].exclusive_error_s);
    }
    std::string row = right(percent(node.inclusive_s, wall(), error), 7);
    if (columns_.error) row += right(error_in_percent(error, wall()), 6);
    if (columns_.exclusive) row += right(percent(exclusive_s, wall(), exclusive_error_s), 8);
    if (columns_.wait) row += right(percent(waiting_[chain.front()], wall()), 8);
    row += right(human_time(node.inclusive_s, error), 10);
    const auto if_not_0 = [](std::int64_t value, std::string text) { return value != 0 ? text : ""; };
    if (columns_.calls) row += right(if_not_0(counts[MetricId::Visits], human_count(counts[MetricId::Visits])), 12);
    const std::int64_t bytes = bytes_moved(counts);
    if (columns_.bytes) row += right(if_not_0(bytes, human_bytes(bytes)), 10);
    for (std::size_t m = 0; m < columns_.extra.size(); ++m)
      row += right(if_not_0(counts.asked_for(m), human_extra(d_.tree.extra_metrics[m], counts.asked_for(m))),
                   columns_.extra[m]);
    if (!columns_.spread.empty()) {
      const auto [times, unit] = analysis::human_times({spread.min, spread.mean, spread.max});
      row += paint(style_.faint, right(times[0], columns_.least_time_width()) + right(times[1], columns_.time_width) +
                                     right(times[2], columns_.time_width) + left(" " + unit, 3));
    }
    return row;
  }

  /// File and line. The place in the module replaces them if they are unknown, and follows them if another call site
  /// has the same ones.
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

  const std::ptrdiff_t lines_below_;
  const bool is_screen_;
  Columns columns_;
  std::vector<double> waiting_;  ///< by node, inclusive; empty: not known
  std::vector<bool> is_named_;   ///< by node: a finding names it or a call path below it
  analysis::ReadableNames names_;
};

/// Adds empty cells for user code and for functions whose waiting is not known.
void add_wait(const NodeWait& of, Row& row) {
  if (of.method == NodeWait::Method::None) row.cells.resize(row.cells.size() + 5);
  else
    row.cells.insert(row.cells.end(), {of.seconds, of.error_s(), name_of(of.method),
                                       of.kind.empty() ? Cell() : Cell(of.kind), of.confidence});
}

}  // namespace

std::string call_tree_page(const Document& document, const Terminal& terminal) {
  constexpr std::ptrdiff_t usual_lines_below = 3;
  std::string page;
  // More lines below the tree than usual leave less room for call paths.
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
  columns.push_back({"off_cpu_s", Kind::Seconds, InJson});
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
    const auto known = [](std::optional<double> seconds) { return seconds ? Cell(*seconds) : Cell(); };
    for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
      const TreeNode& node = tree.nodes[i];
      Row row{{std::int64_t{i}, std::int64_t{node.parent}, path_to(tree, i), name_of(node.kind), node.exclusive_s,
               node.inclusive_s}};
      add_counts(row, node.exclusive);
      for (const double value : {node.spread.min, node.spread.mean, node.spread.max}) row.cells.emplace_back(value);
      row.cells.emplace_back();
      if (run::has_standard_error(node.name)) row.cells.back() = node.standard_error_s;
      row.cells.push_back(known(node.mpi_off_cpu_s));
      add_asked_for(row, tree, node.exclusive);
      add_asked_for(row, tree, node.inclusive);
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

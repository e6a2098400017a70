// Who has waited for others: call paths of MPI by their waiting, with what each method says.
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <span>

#include "offline/analysis/names.hpp"
#include "offline/report/node_waits.hpp"
#include "offline/report/run_page.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

using analysis::PathKind;
using format::MetricId;

struct WaitingPath {
  std::uint32_t node;
  NodeWait wait;
};

/// Largest first.
std::vector<WaitingPath> waiting_paths(const Document& d) {
  std::vector<WaitingPath> paths;
  std::vector<NodeWait> waits = waits_of(d);
  for (std::uint32_t node = 0; node < waits.size(); ++node)
    if (waits[node].method != NodeWait::Method::None && d.tree.nodes[node].kind == PathKind::Mpi)
      paths.push_back({node, std::move(waits[node])});
  std::ranges::stable_sort(paths, std::greater<>{}, [](const WaitingPath& of) { return of.wait.seconds; });
  return paths;
}

/// What durations say of a node at a rank.
struct OfRank {
  std::uint32_t node;
  std::int32_t rank;
  waits::Estimate estimate;
  double time_s;
};

/// By node, then by rank. Reads all ranks.
std::vector<OfRank> minima_of_ranks(const Document& d) {
  std::vector<OfRank> all;
  if (!d.minimum_waits) return all;
  d.for_each_rank(experiment::Depth::Run, [&](const experiment::Rank& rank) {
    const std::size_t first = all.size();
    for (const auto& of : d.minimum_waits->of_rank(rank))
      if (of.path < d.tree.node_of.size()) all.push_back({d.tree.node_of[of.path], rank.rank, of.estimate, of.time_s});
    // Several paths of one node are one.
    std::ranges::sort(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(), {}, &OfRank::node);
    std::size_t last = first;
    for (std::size_t i = first + 1; i < all.size(); ++i) {
      if (all[i].node != all[last].node) {
        all[++last] = all[i];
        continue;
      }
      all[last].estimate += all[i].estimate;
      all[last].time_s += all[i].time_s;
    }
    if (first < all.size()) all.resize(last + 1);
  });
  std::ranges::stable_sort(all, {}, &OfRank::node);
  return all;
}

/// `minima`: of this call path.
Table ranks_table(const NodeWait& wait, std::span<const OfRank> minima) {
  return {"by_rank",
          {{"rank", Kind::Id},
           {"wait_s", Kind::Seconds},
           {"wait_error_s", Kind::Seconds},
           {"wait_method"},
           {"minimum_s", Kind::Seconds},
           {"minimum_least_s", Kind::Seconds},
           {"minimum_most_s", Kind::Seconds},
           {"minimum_error_s", Kind::Seconds},
           {"shortest_s", Kind::Seconds}},
          [&wait, minima](const TakeRow& take) {
            // Of single messages only the sum over ranks is known.
            const bool by_events = wait.method == NodeWait::Method::Events || wait.method == NodeWait::Method::Sampled;
            double time_s = 0;
            std::map<std::int32_t, const OfRank*> ranks;
            for (const OfRank& of : minima) {
              ranks[of.rank] = &of;
              time_s += of.time_s;
            }
            for (const auto& [rank, of] : wait.by_rank) ranks.try_emplace(rank, nullptr);
            for (const auto& [rank, minimum] : ranks) {
              const auto events = wait.by_rank.find(rank);
              // Ranks are off by chance, each for itself, the more time they have been there.
              const double part =
                  minimum && time_s > 0 ? minimum->time_s / time_s : 1 / static_cast<double>(ranks.size());
              Row row{{std::int64_t{rank}}};
              if (by_events) {
                row.cells.insert(row.cells.end(), {events == wait.by_rank.end() ? 0 : events->second,
                                                   wait.error_s * std::sqrt(part), name_of(wait.method)});
              } else {
                const waits::Estimate& of = minimum->estimate;
                row.cells.insert(row.cells.end(), {of.seconds, of.error_s(), name_of(NodeWait::Method::Minimum)});
              }
              if (!minimum) row.cells.resize(row.cells.size() + 5);
              else {
                const waits::Estimate& of = minimum->estimate;
                row.cells.insert(row.cells.end(), {of.seconds, of.least_s, of.most_s, of.error_s(), of.paper_s});
              }
              take(row);
            }
          }};
}

Cell known(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

Table waits_table(const Document& d) {
  std::vector<Column> columns = {{"id", Kind::Id, InJson}, {"path", Kind::Path}};
  if (d.options.callsites)
    for (const auto& [name, kind] : {std::pair("module", Kind::Text), {"file", Kind::Text}, {"line", Kind::Id}})
      columns.push_back({name, kind});
  columns.insert(columns.end(), {{"mpi_s", Kind::Seconds},
                                 {"calls", Kind::Count},
                                 {"wait_s", Kind::Seconds},
                                 {"wait_error_s", Kind::Seconds},
                                 {"wait_method"},
                                 {"wait_kind"},
                                 {"wait_confidence", Kind::Share},
                                 {"events_s", Kind::Seconds},
                                 {"matched_s", Kind::Seconds},
                                 {"minimum_s", Kind::Seconds},
                                 {"minimum_least_s", Kind::Seconds},
                                 {"minimum_most_s", Kind::Seconds},
                                 {"shortest_s", Kind::Seconds}});
  const auto rows = [&d](const TakeRow& take) {
    const bool with_ranks = d.options.format == Format::Json;
    const auto by_rank = with_ranks ? minima_of_ranks(d) : std::vector<OfRank>();
    for (const WaitingPath& of : waiting_paths(d)) {
      const analysis::TreeNode& node = d.tree.nodes[of.node];
      Row row{{std::int64_t{of.node}, path_to(d.tree, of.node)}};
      if (d.options.callsites) row.cells.insert(row.cells.end(), {node.module, node.file, std::int64_t{node.line}});
      row.cells.insert(row.cells.end(),
                       {node.exclusive_s, node.exclusive[MetricId::Visits], of.wait.seconds, of.wait.error_s,
                        name_of(of.wait.method), of.wait.kind.empty() ? Cell() : Cell(of.wait.kind), of.wait.confidence,
                        known(of.wait.searched_s), known(of.wait.matched_s)});
      if (const auto& minimum = of.wait.minimum)
        for (const double value : {minimum->seconds, minimum->least_s, minimum->most_s, minimum->paper_s})
          row.cells.emplace_back(value);
      else row.cells.resize(row.cells.size() + 4);
      if (with_ranks) {
        const auto ranks = std::ranges::equal_range(by_rank, of.node, {}, &OfRank::node);
        row.tables.push_back(ranks_table(of.wait, {ranks.begin(), ranks.end()}));
      }
      take(row);
    }
  };
  return {"waits", std::move(columns), rows};
}

class WaitsPage : public RunPage {
 public:
  WaitsPage(const Document& document, const Terminal& terminal) : RunPage(document, terminal) {}

 private:
  std::pair<const char*, const char*> folded_names() const override { return {"call path", "call paths"}; }
  void more_footnotes() override {
    if (d_.options.events_not_searched)
      wrapped("", "The events were not searched: " + d_.options.events_not_searched.value(), 0);
    wrapped("",
            "wait %: of the time of all threads, but for what helper threads are idle, by the method that is named. "
            "events, sampled: what the events that "
            "were kept tell, of all calls or of a sample of iterations. matched: single messages that were sampled. "
            "minimum: what calls took longer than short ones of their kind, with its bounds; of calls that tested "
            "and found nothing (polling), all their time.",
            0, style_.faint);
  }

  /// In text, but for the call path. Those that are needed least go first where there is no room.
  enum Cells : std::uint8_t { Share, Error, Seconds, Time, Method, KindOfWait, Events, Matched, Minimum, Bounds, all };
  static constexpr Cells dropped[] = {Time, Bounds, Matched, Events, Minimum, Seconds, Error, KindOfWait};
  static constexpr std::size_t least_path = 24;

  void view() override {
    std::vector<std::pair<std::array<std::string, all>, const WaitingPath*>> lines;
    const auto paths = waiting_paths(d_);
    std::array<std::string, all> heads{"wait %",    std::string(glyphs_.plus_minus) + " %",
                                       "wait",      "MPI",
                                       "method",    "kind",
                                       "events %",  "matched %",
                                       "minimum %", "bounds %"};
    for (const WaitingPath& of : paths) {
      if (std::max(of.wait.seconds, of.wait.error_s) < least_time()) fold(1, of.wait.seconds);
      else lines.emplace_back(cells_of(of), &of);
    }
    std::array<std::size_t, all> widths{};
    std::size_t used = 2;
    for (std::size_t c = 0; c < all; ++c) {
      std::size_t longest = 0;
      for (const auto& [cells, of] : lines) longest = std::max(longest, display_width(cells[c]));
      widths[c] = longest == 0 ? 0 : std::max(longest, display_width(heads[c])) + 2 * (c > 0);
      used += widths[c];
    }
    for (const Cells drop : dropped)
      if (used + least_path > width()) used -= std::exchange(widths[drop], 0);
    const auto put = [&](const std::array<std::string, all>& cells, const std::string& path) {
      std::string text;
      for (std::size_t c = 0; c < all; ++c)
        if (widths[c] > 0) text += right(cells[c], widths[c]);
      return text + "  " + path;
    };
    if (lines.empty())
      return line(paths.empty()               ? "This experiment has no wait-state information."
                  : paths[0].wait.seconds > 0 ? "No call path has waited for others long enough to be shown."
                                              : "No call path has waited for others.");
    line(paint(style_.faint, put(heads, "call path")));
    for (const auto& [cells, of] : lines) line(put(cells, path_of(*of, width() > used ? width() - used : least_path)));
  }

  std::array<std::string, all> cells_of(const WaitingPath& of) const {
    const auto share = [&](double seconds) { return wall() > 0 ? percent(seconds, wall()) : std::string(); };
    const auto known_share = [&](const std::optional<double>& seconds) {
      return !seconds ? std::string() : *seconds > 0 ? share(*seconds) : std::string("0");
    };
    const auto& minimum = of.wait.minimum;
    std::array<std::string, all> cells;
    cells[Share] = known_share(of.wait.seconds);
    cells[Error] = error_in_percent(of.wait.error_s, wall());
    cells[Seconds] = human_time(of.wait.seconds);
    cells[Time] = human_time(d_.tree.nodes[of.node].exclusive_s);
    cells[Method] = name_of(of.wait.method);
    cells[KindOfWait] = of.wait.kind;
    cells[Events] = known_share(of.wait.searched_s);
    cells[Matched] = known_share(of.wait.matched_s);
    if (minimum) {
      cells[Minimum] = known_share(minimum->seconds);
      cells[Bounds] = fmt::format("{} to {}", known_share(minimum->least_s), known_share(minimum->most_s));
    }
    return cells;
  }

  std::string path_of(const WaitingPath& of, std::size_t room) const {
    const analysis::TreeNode& node = d_.tree.nodes[of.node];
    const std::string site =
        d_.options.callsites && !node.file.empty() ? fmt::format(" ({}:{})", node.file, node.line) : "";
    return fit_path(joined_path(path_to(d_.tree, of.node)) + site, room, glyphs_.ellipsis);
  }
};

std::string waits_page(const Document& document, const Terminal& terminal) {
  return WaitsPage(document, terminal).render();
}

}  // namespace

const View waits_view{"--waits",
                      [](const Options& options) { return options.waits; },
                      {"--callsites", "--callpath-depth", "--min-share"},
                      [](const Document& d) { return std::vector{waits_table(d)}; },
                      waits_table,
                      waits_page};

}  // namespace refrain::report

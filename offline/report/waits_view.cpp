// Waiting for other processes: call paths of MPI by their waiting, with the estimate of each method.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <span>

#include "offline/report/columns.hpp"
#include "offline/report/node_waits.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

using format::MetricId;
using run::PathKind;

struct WaitingPath {
  std::uint32_t node;
  NodeWait wait;
};

/// The largest waiting first.
std::vector<WaitingPath> waiting_paths(const Document& d) {
  std::vector<WaitingPath> paths;
  std::vector<NodeWait> waits = waits_of(d);
  for (std::uint32_t node = 0; node < waits.size(); ++node)
    if (waits[node].method != NodeWait::Method::None && d.tree.nodes[node].kind == PathKind::Mpi)
      paths.push_back({node, std::move(waits[node])});
  std::ranges::stable_sort(paths, std::greater<>{}, [](const WaitingPath& of) { return of.wait.seconds; });
  return paths;
}

/// The estimate from durations of calls, for a node at a rank.
struct OfRank {
  std::uint32_t node;
  std::int32_t rank;
  waits::Estimate estimate;
  double time_s;
};

/// Sorted by node, then by rank. Reads all ranks.
std::vector<OfRank> minima_of_ranks(const Document& d) {
  std::vector<OfRank> all;
  if (!d.minimum_waits) return all;
  d.for_each_rank(experiment::Depth::Run, [&](const experiment::Rank& rank) {
    const std::size_t first = all.size();
    for (const auto& of : d.minimum_waits->of_rank(rank))
      if (of.path < d.tree.node_of.size()) all.push_back({d.tree.node_of[of.path], rank.rank, of.estimate, of.time_s});
    // Merge the paths of one node.
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
Table ranks_table(std::uint32_t node, const NodeWait& wait, std::span<const OfRank> minima) {
  return {"by_rank",
          columns("rank, wait_s, wait_error_s, wait_method, minimum_s, minimum_least_s, minimum_most_s, "
                  "minimum_error_s, shortest_s"),
          [node, &wait, minima](const TakeRow& take) {
            // Single messages tell only the sum over ranks.
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
              const double part =
                  minimum && time_s > 0 ? minimum->time_s / time_s : 1 / static_cast<double>(ranks.size());
              Row row{{std::int64_t{rank}}};
              if (by_events) {
                row.cells.insert(row.cells.end(),
                                 {events == wait.by_rank.end() ? 0 : events->second,
                                  replicates_of_rank(wait, node, rank, part).error_ns() * 1e-9, name_of(wait.method)});
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

std::string share_of(const Document& d, const std::optional<double>& seconds) {
  return !seconds ? std::string() : *seconds > 0 ? percent(*seconds, d.tree.totals.wall_s) : std::string("0");
}

/// Text has shares, in columns of its own.
std::vector<Column> columns_of_waits(const Document& d) {
  std::vector<Column> all = columns("id", InJson) + columns("path", InTables);
  if (d.request.callsites) all = std::move(all) + columns("module, file, line", InTables);
  all = std::move(all) + columns(
                             "mpi_s, calls, wait_s, wait_error_s, wait_method, wait_kind, wait_confidence, events_s, "
                             "matched_s, minimum_s, minimum_least_s, minimum_most_s, shortest_s",
                             InTables);
  // The least needed columns go first if there is no room.
  const auto add_to_text = [&](const char* name, const char* head, int gives_way) {
    all.push_back(
        {.name = name, .in = InText, .head = head, .is_optional = true, .gives_way = gives_way, .align = Align::Right});
  };
  add_to_text("wait_share", "wait %", 0);
  add_to_text("wait_error_share", "+- %", 2);
  add_to_text("wait", "wait", 3);
  add_to_text("mpi", "MPI", 8);
  add_to_text("method", "method", 0);
  add_to_text("kind", "kind", 1);
  add_to_text("events_share", "events %", 5);
  add_to_text("matched_share", "matched %", 6);
  add_to_text("minimum_share", "minimum %", 4);
  add_to_text("bounds", "bounds %", 7);
  all.push_back({"call_path", Kind::Path, InText, "call path"});
  return all;
}

Row row_of_path(const Document& d, const WaitingPath& of) {
  const analysis::TreeNode& node = d.tree.nodes[of.node];
  const auto& minimum = of.wait.minimum;
  const std::vector<std::string> path = path_to(d.tree, of.node);
  Row row{{std::int64_t{of.node}, path}};
  if (d.request.callsites) row.cells.insert(row.cells.end(), {node.module, node.file, std::int64_t{node.line}});
  row.cells.insert(row.cells.end(),
                   {node.exclusive_s, node.exclusive[MetricId::Visits], of.wait.seconds, of.wait.error_s(),
                    name_of(of.wait.method), of.wait.kind.empty() ? Cell() : Cell(of.wait.kind), of.wait.confidence,
                    known(of.wait.searched_s), known(of.wait.matched_s)});
  if (minimum)
    for (const double value : {minimum->seconds, minimum->least_s, minimum->most_s, minimum->paper_s})
      row.cells.emplace_back(value);
  else row.cells.resize(row.cells.size() + 4);
  const std::string site =
      d.request.callsites && !node.file.empty() ? fmt::format(" ({}:{})", node.file, node.line) : "";
  row.cells.insert(
      row.cells.end(),
      {share_of(d, of.wait.seconds), error_in_percent(of.wait.error_s(), d.tree.totals.wall_s),
       human_time(of.wait.seconds), human_time(node.exclusive_s), name_of(of.wait.method), of.wait.kind,
       share_of(d, of.wait.searched_s), share_of(d, of.wait.matched_s), minimum ? share_of(d, minimum->seconds) : "",
       minimum ? fmt::format("{} to {}", share_of(d, minimum->least_s), share_of(d, minimum->most_s)) : std::string(),
       joined_path(path) + site});
  row.weight = {of.wait.seconds, of.wait.error_s()};
  return row;
}

}  // namespace

std::vector<Table> waits_tables(const Document& d) {
  const auto paths = std::make_shared<const std::vector<WaitingPath>>(waiting_paths(d));
  Table table{"waits", columns_of_waits(d), [&d, paths](const TakeRow& take) {
                const bool with_ranks = d.request.format == Format::Json;
                const auto by_rank = with_ranks ? minima_of_ranks(d) : std::vector<OfRank>();
                for (const WaitingPath& of : *paths) {
                  Row row = row_of_path(d, of);
                  if (with_ranks) {
                    const auto ranks = std::ranges::equal_range(by_rank, of.node, {}, &OfRank::node);
                    row.tables.push_back(ranks_table(of.node, of.wait, {ranks.begin(), ranks.end()}));
                  }
                  take(row);
                }
              }};
  table.empty = paths->empty()                    ? "This experiment has no wait-state information."
                : paths->front().wait.seconds > 0 ? "No call path has waited for others long enough to be shown."
                                                  : "No call path has waited for others.";
  table.row_name = "call path";
  table.row_names = "call paths";
  if (!d.found.not_searched.empty())
    table.footnotes.push_back({"The events were not searched: " + d.found.not_searched});
  table.footnotes.push_back(
      {"wait %: of the time of all threads, but for what helper threads are idle, by the method that is named. events, "
       "sampled: what the events that were kept tell, of all calls or of a sample of iterations. matched: single "
       "messages that were sampled. minimum: what calls took longer than short ones of their kind, with its bounds; of "
       "calls that tested and found nothing (polling), all their time.",
       Note::Faint});
  return {std::move(table)};
}

}  // namespace refrain::report

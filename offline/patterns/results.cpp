#include "offline/patterns/results.hpp"

#include <algorithm>
#include <map>

#include "offline/patterns/pattern.hpp"

namespace refrain::patterns {
namespace {

/// What a search says about the waiting at a node.
struct NodeOfWaits {
  double waiting_ns = 0;
  double seen_ns = 0, untold_ns = 0;
  const MatchedWait* matched = nullptr;
  double most_ns = 0;  ///< maximum over the kinds of waiting
  std::string kind;
  std::map<std::int32_t, double> by_rank_ns;
  std::map<std::int32_t, run::Replicates> replicates;
};

}  // namespace

PathOfNode first_paths(const trace::Trace& trace, const Naming& naming) {
  std::map<std::uint32_t, std::int64_t> first;
  for (std::uint32_t path = 0; path < trace.path_count(); ++path) first.try_emplace(naming.node_of(path), path);
  return [first = std::move(first)](std::uint32_t node) {
    const auto at = first.find(node);
    return at == first.end() ? std::int64_t{-1} : at->second;
  };
}

std::int64_t path_itself(std::uint32_t node) { return std::int64_t{node} - 1; }

PathWaits waits_of(const Analysis& analysis, const std::vector<MatchedWait>& matched, const trace::Trace& trace,
                   const PathOfNode& path_of) {
  PathWaits waits;
  waits.is_sampled = analysis.is_sampled;
  waits.ranks_in_block = analysis.ranks_in_block;
  std::map<std::uint32_t, NodeOfWaits> nodes;
  for (const PatternResult& of : analysis.patterns) {
    if (of.about.name == waiting_name) {
      waits.confidence = of.confidence;
      for (const auto& row : of.by_node) nodes[row.node].waiting_ns = row.severity.ns;
      for (const auto& row : of.replicates) nodes[row.node].replicates[row.rank] += row.by;
      for (const auto& cell : of.cells) nodes[cell.node].by_rank_ns[trace.locations()[cell.location].rank] += cell.ns;
    }
    if (of.about.name == "mpi")
      for (const auto& row : of.by_node) nodes[row.node].seen_ns = row.severity.ns;
    if (of.about.is_wait)
      for (const auto& row : of.by_node)
        if (NodeOfWaits& to = nodes[row.node]; row.severity.ns > to.most_ns) {
          to.most_ns = row.severity.ns;
          to.kind = of.about.name;
        }
  }
  for (const auto& row : analysis.untold) nodes[row.node].untold_ns = row.severity.ns;
  for (const MatchedWait& of : matched) nodes[of.node].matched = &of;
  for (const auto& [node, of] : nodes) {
    const std::int64_t path = path_of(node);
    if (path < 0) continue;
    PathWaits::Of& to = waits.paths.emplace_back();
    to.path = path;
    to.seconds = of.waiting_ns / 1e9;
    to.replicates = of.replicates;
    to.seen_s = of.seen_ns / 1e9;
    to.known_s = std::max(of.seen_ns - of.untold_ns, 0.0) / 1e9;
    if (of.matched)
      to.matched = {of.matched->ns / 1e9, of.matched->replicates, of.matched->messages, of.matched->is_late_receiver};
    to.kind = of.kind;
    for (const auto& [rank, ns] : of.by_rank_ns) to.by_rank[rank] = ns / 1e9;
  }
  return waits;
}

std::vector<experiment::SavedMetric> as_metrics(const Analysis& analysis, const trace::Trace& trace,
                                                const PathOfNode& path_of) {
  std::vector<experiment::SavedMetric> metrics;
  for (const PatternResult& of : analysis.patterns) {
    // A pattern that reports only its severity has it at no call path and no location.
    const bool has_places = of.all.ns == 0 || !of.cells.empty();
    if (of.is_class || of.is_partial || !has_places) continue;
    experiment::SavedMetric metric{of.about.name, of.about.parent, of.about.title, of.is_sampled};
    for (const PatternResult::Cell& cell : of.cells) {
      const trace::LocationOfTrace& at = trace.locations()[cell.location];
      metric.values.push_back({path_of(cell.node), at.rank, at.thread, cell.ns * 1e-9});
    }
    for (const PatternResult::Replicated& row : of.replicates)
      metric.replicates.push_back({path_of(row.node), row.rank, row.by.ns});
    metric.ranks_in_block = analysis.ranks_in_block;
    for (const PatternResult::ByLocation& row : of.by_location) {
      const trace::LocationOfTrace& at = trace.locations()[row.location];
      const double error_s = row.severity.error_ns < 0 ? row.severity.error_ns : row.severity.error_ns * 1e-9;
      metric.locations.push_back({at.rank, at.thread, row.severity.ns * 1e-9, error_s});
    }
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

}  // namespace refrain::patterns

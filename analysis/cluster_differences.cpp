#include "analysis/cluster_differences.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/iterations.hpp"

namespace refrain::analysis {
namespace {

using measurement::MetricId;

constexpr double least_time_share = 0.02;   ///< of the loop's mean wall time: smaller differences of time are left out
constexpr double least_count_share = 0.05;  ///< of the larger mean: the same for counts
constexpr double certain = 3;               ///< standard errors that a sampled difference must have
constexpr std::size_t most = 4;

/// Sums over the iterations of one cluster, or of the loop.
struct Sums {
  double members = 0, wall = 0, mpi_calls = 0, bytes_sent = 0;
  std::vector<double> ticks, visits, errors;  ///< by node; squared standard errors of `ticks`
  explicit Sums(std::size_t nodes) : ticks(nodes, 0), visits(nodes, 0), errors(nodes, 0) {}
  void operator+=(const Sums& other) {
    members += other.members;
    wall += other.wall;
    mpi_calls += other.mpi_calls;
    bytes_sent += other.bytes_sent;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      ticks[i] += other.ticks[i];
      visits[i] += other.visits[i];
      errors[i] += other.errors[i];
    }
  }
};

/// The place of the paths that only the time rules define, at the end of the tree; 0: nowhere in the run.
std::uint32_t top_node(const CallTree& tree, const char* name) {
  for (const std::uint32_t child : tree.nodes[0].children)
    if (tree.nodes[child].name == name) return child;
  return 0;
}

}  // namespace

std::vector<ClusterSummary> summarise_clusters(const IterationProfiles& profiles, const CallTree& tree) {
  const archive::Loop& loop = profiles.loop();
  const double second = profiles.constants().ticks_per_second;
  const std::uint32_t not_on_cpu = top_node(tree, not_on_cpu_name);
  const int wall_column = overall_index(loop, "wall");
  std::vector<Sums> sums;
  Sums all(tree.nodes.size());
  std::vector<ClusterSummary> summaries;
  for (std::size_t k = 0; k < loop.clusters.size(); ++k) {
    const archive::Cluster& cluster = loop.clusters[k];
    Sums own(tree.nodes.size());
    ClusterSummary summary;
    summary.cluster = &cluster;
    const archive::Unit* unit = profiles.cluster_unit(static_cast<std::int32_t>(k));
    if (unit != nullptr && cluster.members > 0) {
      const UnitTimes times = apply_time_rules(*unit, profiles.profile().paths, profiles.constants());
      own.members = static_cast<double>(cluster.members);
      own.wall = static_cast<double>(times.wall);
      own.mpi_calls = static_cast<double>(unit->mpi_calls);
      const auto weight = static_cast<double>(unit->weight_user_ns);
      const auto on_cpu = static_cast<double>(times.user - times.not_on_cpu);
      for (const auto& [path, ticks] : times.mpi_paths) own.ticks[tree.node_of[path]] += static_cast<double>(ticks);
      for (const auto& [path, ticks] : times.user_paths) own.ticks[tree.node_of[path]] += static_cast<double>(ticks);
      own.ticks[not_on_cpu] += static_cast<double>(times.not_on_cpu);
      std::vector<double> weights(tree.nodes.size(), 0);
      for (const auto& row : unit->values) {
        const auto kind = profiles.profile().paths[row.path].kind;
        own.visits[tree.node_of[row.path]] += static_cast<double>(value_of(*unit, row, kind, MetricId::Visits));
        own.bytes_sent += static_cast<double>(value_of(*unit, row, kind, MetricId::BytesSent));
        weights[tree.node_of[row.path]] += static_cast<double>(value_of(*unit, row, kind, MetricId::Weight));
      }
      for (std::size_t i = 0; i < weights.size(); ++i) {
        if (weight <= 0 || weights[i] <= 0) continue;
        const double error = on_cpu * standard_error_of_share(weights[i] / weight, weight, unit->weight_user_squared);
        own.errors[i] = error * error;
      }
      summary.mean_wall_s = own.wall / own.members / second;
      summary.mean_mpi_s = static_cast<double>(times.mpi) / own.members / second;
      const auto column = static_cast<std::size_t>(wall_column);
      if (wall_column >= 0 && column < cluster.squares.size()) {
        summary.deviation_wall_s = std::sqrt(std::max(0.0, cluster.squares[column] / own.members)) / second;
        summary.min_wall_s = static_cast<double>(cluster.minimum[column]) / second;
        summary.max_wall_s = static_cast<double>(cluster.maximum[column]) / second;
      }
    }
    all += own;
    sums.push_back(std::move(own));
    summaries.push_back(std::move(summary));
  }
  if (all.members <= 0) return summaries;

  struct Candidate {
    double weight;
    ClusterDifference difference;
  };
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const Sums& own = sums[k];
    summaries[k].share = all.wall > 0 ? own.wall / all.wall : 0;
    if (own.members <= 0 || own.members == all.members) continue;
    std::vector<Candidate> times, counts;
    for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
      const double here = own.ticks[i] / own.members, usual = all.ticks[i] / all.members;
      const double error = std::sqrt(own.errors[i]) / own.members + std::sqrt(all.errors[i]) / all.members;
      const double apart = std::abs(here - usual);
      if (apart > least_time_share * all.wall / all.members && apart > certain * error)
        times.push_back({apart, {i, "time", true, here / second, usual / second}});
      const double calls = own.visits[i] / own.members, usual_calls = all.visits[i] / all.members;
      const double larger = std::max(calls, usual_calls);
      if (std::abs(calls - usual_calls) > least_count_share * larger)
        counts.push_back({std::abs(calls - usual_calls) / larger, {i, "calls", false, calls, usual_calls}});
    }
    const double bytes = own.bytes_sent / own.members, usual_bytes = all.bytes_sent / all.members;
    if (const double larger = std::max(bytes, usual_bytes); std::abs(bytes - usual_bytes) > least_count_share * larger)
      counts.push_back({std::abs(bytes - usual_bytes) / larger, {0, "bytes_sent", false, bytes, usual_bytes}});
    // Without a call path to blame, the wall time as a whole.
    const double wall = own.wall / own.members, usual_wall = all.wall / all.members;
    if (times.empty() && std::abs(wall - usual_wall) > least_time_share * usual_wall)
      times.push_back({0, {0, "wall", true, wall / second, usual_wall / second}});
    for (auto* list : {&times, &counts}) {
      std::stable_sort(list->begin(), list->end(), [](const auto& a, const auto& b) { return a.weight > b.weight; });
      const std::size_t room = list == &times ? most / 2 : most - summaries[k].differences.size();
      for (std::size_t i = 0; i < list->size() && i < room; ++i)
        summaries[k].differences.push_back((*list)[i].difference);
    }
  }
  return summaries;
}

}  // namespace refrain::analysis

#include "analysis/cluster_differences.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/iteration_metrics.hpp"
#include "analysis/iterations.hpp"

namespace refrain::analysis {
namespace {

using measurement::MetricId;

constexpr double least_time_share = 0.05;   ///< of the loop's mean wall time: smaller differences of time are left out
constexpr double least_count_share = 0.05;  ///< of the larger one: the same for counts
constexpr double certain = 3;               ///< standard errors that a sampled difference must have
constexpr double nearly_all = 0.9;          ///< of a caller's time: its callee is not told apart from it
constexpr std::size_t most = 6, most_times = 4;

/// Sums over the iterations of one cluster, or of the loop.
struct Sums {
  double members = 0, wall = 0, mpi_calls = 0, bytes_sent = 0;
  double on_cpu = 0, weight = 0, weight_squares = 0;  ///< of user code: what samples divide, and their weights
  std::vector<double> ticks, visits, weights;         ///< by node
  std::vector<double> extra;                          ///< by metric that the user has asked for
  Sums(std::size_t nodes, std::size_t metrics)
      : ticks(nodes, 0), visits(nodes, 0), weights(nodes, 0), extra(metrics, 0) {}
  void operator+=(const Sums& other) {
    members += other.members;
    wall += other.wall;
    mpi_calls += other.mpi_calls;
    bytes_sent += other.bytes_sent;
    on_cpu += other.on_cpu;
    weight += other.weight;
    weight_squares += other.weight_squares;
    for (std::size_t i = 0; i < extra.size(); ++i) extra[i] += other.extra[i];
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      ticks[i] += other.ticks[i];
      visits[i] += other.visits[i];
      weights[i] += other.weights[i];
    }
  }
};

/// The function to blame for what `leaf` has: the outermost caller that does little else, but not the loop itself.
std::uint32_t outermost(const CallTree& tree, const std::vector<double>& inclusive, std::uint32_t leaf,
                        const std::string& loop) {
  if (tree.nodes[leaf].kind != PathKind::User) return leaf;
  const double least = inclusive[leaf];
  std::uint32_t best = leaf;
  for (auto at = static_cast<std::uint32_t>(tree.nodes[leaf].parent);
       at != 0 && tree.nodes[at].name != loop && least >= nearly_all * inclusive[at];
       at = static_cast<std::uint32_t>(tree.nodes[at].parent))
    best = at;
  return best;
}

std::vector<double> with_children(const CallTree& tree, std::vector<double> values) {
  for (std::size_t i = values.size(); i-- > 1;) values[static_cast<std::size_t>(tree.nodes[i].parent)] += values[i];
  return values;
}

/// Standard error of the time per iteration of a path that has `share` of the samples in the whole loop. What the few
/// samples of a small cluster say of their own spread is not to be trusted: none there is not none ever.
double sampling_error(const Sums& sums, double share) {
  if (share <= 0) return 0;
  if (sums.weight <= 0) return std::numeric_limits<double>::infinity();
  const double error = standard_error_of_share(std::min(share, 0.5), sums.weight, sums.weight_squares);
  return sums.on_cpu * error / sums.members;
}

/// What `total` is per iteration in the cluster of the median iteration. When a tenth of the iterations make a call,
/// that the others do not make it says nothing of them, though the mean of all iterations is not theirs.
template <class Total>
double usual_count(const std::vector<Sums>& clusters, double members, Total total) {
  std::vector<std::pair<double, double>> counts;  // per iteration, and of how many
  for (const Sums& own : clusters)
    if (own.members > 0) counts.emplace_back(total(own) / own.members, own.members);
  std::sort(counts.begin(), counts.end());
  double below = 0;
  for (const auto& [count, of] : counts)
    if ((below += of) >= members / 2) return count;
  return 0;
}

bool differ(double a, double b) { return std::abs(a - b) > least_count_share * std::max(a, b); }

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
  const std::size_t metrics = tree.extra_metrics.size();
  Sums all(tree.nodes.size(), metrics);
  std::vector<ClusterSummary> summaries;
  for (std::size_t k = 0; k < loop.clusters.size(); ++k) {
    const archive::Cluster& cluster = loop.clusters[k];
    Sums own(tree.nodes.size(), metrics);
    ClusterSummary summary;
    summary.cluster = &cluster;
    const archive::Unit* unit = profiles.cluster_unit(static_cast<std::int32_t>(k));
    if (unit != nullptr && cluster.members > 0) {
      const UnitTimes times = apply_time_rules(*unit, profiles.profile().paths, profiles.constants());
      own.members = static_cast<double>(cluster.members);
      own.wall = static_cast<double>(times.wall);
      own.mpi_calls = static_cast<double>(unit->mpi_calls);
      own.on_cpu = static_cast<double>(times.user - times.not_on_cpu);
      for (std::size_t m = 0; m < metrics; ++m) own.extra[m] = static_cast<double>(unit->extra.total(m));
      own.weight = static_cast<double>(unit->weight_user_ns);
      own.weight_squares = unit->weight_user_squared;
      for (const auto& [path, ticks] : times.mpi_paths) own.ticks[tree.node_of[path]] += static_cast<double>(ticks);
      for (const auto& [path, ticks] : times.user_paths) own.ticks[tree.node_of[path]] += static_cast<double>(ticks);
      own.ticks[not_on_cpu] += static_cast<double>(times.not_on_cpu);
      for (const auto& row : unit->values) {
        const auto kind = profiles.profile().paths[row.path].kind;
        own.visits[tree.node_of[row.path]] += static_cast<double>(value_of(*unit, row, kind, MetricId::Visits));
        own.bytes_sent += static_cast<double>(value_of(*unit, row, kind, MetricId::BytesSent));
        own.weights[tree.node_of[row.path]] += static_cast<double>(value_of(*unit, row, kind, MetricId::Weight));
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
  const std::vector<double> usual_inclusive = with_children(tree, all.ticks);
  const std::vector<double> weights = with_children(tree, all.weights);
  std::vector<double> usual_calls(tree.nodes.size(), 0), usual_extra(metrics, 0);
  for (std::size_t i = 0; i < usual_calls.size(); ++i)
    if (all.visits[i] != 0) usual_calls[i] = usual_count(sums, all.members, [i](const Sums& s) { return s.visits[i]; });
  for (std::size_t m = 0; m < metrics; ++m)
    usual_extra[m] = usual_count(sums, all.members, [m](const Sums& s) { return s.extra[m]; });
  const double usual_bytes = usual_count(sums, all.members, [](const Sums& s) { return s.bytes_sent; });
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const Sums& own = sums[k];
    summaries[k].share = all.wall > 0 ? own.wall / all.wall : 0;
    if (own.members <= 0 || own.members == all.members) continue;
    std::vector<Candidate> times, counts;
    const std::vector<double> inclusive = with_children(tree, own.ticks);
    // Given with the totals of the cluster and of the loop.
    const auto add_count = [&](ClusterDifference d, double usual) {
      const double here = d.cluster_mean /= own.members, mean = d.loop_mean /= all.members;
      if (differ(here, mean) && differ(here, usual))
        counts.push_back({std::abs(here - mean) / std::max(here, mean), std::move(d)});
    };
    for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
      if (own.ticks[i] != 0 || all.ticks[i] != 0) {
        const std::uint32_t node = outermost(tree, usual_inclusive, i, loop.name);
        const double here = inclusive[node] / own.members, usual = usual_inclusive[node] / all.members;
        const double share = all.weight > 0 ? weights[node] / all.weight : 0;
        const double error = sampling_error(own, share) + sampling_error(all, share);
        const double apart = std::abs(here - usual);
        if (apart > least_time_share * all.wall / all.members && apart > certain * error)
          times.push_back({apart, {node, "time", true, here / second, usual / second}});
      }
      add_count({i, "calls", false, own.visits[i], all.visits[i]}, usual_calls[i]);
    }
    add_count({0, "bytes_sent", false, own.bytes_sent, all.bytes_sent}, usual_bytes);
    for (std::size_t m = 0; m < metrics; ++m) {
      const auto& [name, unit] = tree.extra_metrics[m];
      const double divisor = divisor_of(unit);
      add_count({0, name, unit == "ns", own.extra[m] / divisor, all.extra[m] / divisor}, usual_extra[m] / divisor);
    }
    // Without a call path to blame, the wall time as a whole.
    const double wall = own.wall / own.members, usual_wall = all.wall / all.members;
    if (times.empty() && std::abs(wall - usual_wall) > least_time_share * usual_wall)
      times.push_back({0, {0, "wall", true, wall / second, usual_wall / second}});
    for (auto* list : {&times, &counts}) {
      std::stable_sort(list->begin(), list->end(), [](const auto& a, const auto& b) { return a.weight > b.weight; });
      const std::size_t room = list == &times ? most_times : most - summaries[k].differences.size();
      auto& kept = summaries[k].differences;
      const std::size_t end = kept.size() + room;
      for (std::size_t i = 0; i < list->size() && kept.size() < end; ++i) {
        const ClusterDifference& next = (*list)[i].difference;
        const bool said = std::any_of(kept.begin(), kept.end(), [&](const ClusterDifference& one) {
          return one.node == next.node && one.metric == next.metric;
        });
        if (!said) kept.push_back(next);
      }
    }
  }
  return summaries;
}

}  // namespace refrain::analysis

#include "offline/analysis/cluster_differences.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "offline/run/iteration_metrics.hpp"
#include "offline/run/iterations.hpp"
#include "statistics/statistics.hpp"

namespace refrain::analysis {
namespace {

using format::MetricId;

constexpr double least_time_share = 0.05;   ///< of the loop's mean wall time: smaller differences of time are left out
constexpr double least_count_share = 0.05;  ///< of the larger count: smaller differences of counts are left out
constexpr double most_of_caller = 0.9;      ///< of a caller's time: a callee with more is not told apart from it
constexpr std::size_t most = 6, most_times = 4;

constexpr double ns_of_second = 1e9;

/// Sums over the iterations of one cluster, or of the loop. Times are in nanoseconds.
struct Sums {
  double members = 0, wall = 0, mpi = 0, bytes_sent = 0;
  double on_cpu = 0, weight = 0, weight_squares = 0;  ///< of user code: what samples divide, and sums of weights
  std::vector<double> ns, visits, weights;            ///< by node
  std::vector<double> extra;                          ///< by metric that the user has asked for
  Sums(std::size_t nodes, std::size_t metrics) : ns(nodes, 0), visits(nodes, 0), weights(nodes, 0), extra(metrics, 0) {}
  void operator+=(const Sums& other) { add(other, 1); }
  /// Adds `part` times `other`.
  void add(const Sums& other, double part) {
    members += part * other.members;
    wall += part * other.wall;
    mpi += part * other.mpi;
    bytes_sent += part * other.bytes_sent;
    on_cpu += part * other.on_cpu;
    weight += part * other.weight;
    weight_squares += part * other.weight_squares;
    for (std::size_t i = 0; i < extra.size(); ++i) extra[i] += part * other.extra[i];
    for (std::size_t i = 0; i < ns.size(); ++i) {
      ns[i] += part * other.ns[i];
      visits[i] += part * other.visits[i];
      weights[i] += part * other.weights[i];
    }
  }
};

/// The function to blame for the time of `leaf`: the outermost caller that does little else, but not the loop itself.
std::uint32_t outermost(const CallTree& tree, const std::vector<double>& inclusive, std::uint32_t leaf,
                        const std::string& loop) {
  if (tree.nodes[leaf].kind != run::PathKind::User) return leaf;
  const double least = inclusive[leaf];
  std::uint32_t best = leaf;
  for (auto at = static_cast<std::uint32_t>(tree.nodes[leaf].parent);
       at != 0 && tree.nodes[at].name != loop && least >= most_of_caller * inclusive[at];
       at = static_cast<std::uint32_t>(tree.nodes[at].parent))
    best = at;
  return best;
}

std::vector<double> with_children(const CallTree& tree, std::vector<double> values) {
  for (std::size_t i = values.size(); i-- > 1;) values[static_cast<std::size_t>(tree.nodes[i].parent)] += values[i];
  return values;
}

/// Standard error of the time per iteration of a path that has `share` of the samples in the whole loop. The few
/// samples of a small cluster do not tell their own spread: a path without samples there may still have time there.
double sampling_error(const Sums& sums, double share) {
  if (share <= 0) return 0;
  if (sums.weight <= 0) return std::numeric_limits<double>::infinity();
  const double error = statistics::error_of_share(std::min(share, 0.5), sums.weight, sums.weight_squares);
  return sums.on_cpu * error / sums.members;
}

/// `total` per iteration in the cluster of the median iteration. If a tenth of the iterations make a call, its absence
/// does not set the others apart, although they differ from the mean of all iterations.
template <class Total>
double usual_count(const std::vector<Sums>& clusters, double members, Total total) {
  std::vector<std::pair<double, double>> counts;  // count per iteration, and number of iterations
  for (const Sums& own : clusters)
    if (own.members > 0) counts.emplace_back(total(own) / own.members, own.members);
  std::sort(counts.begin(), counts.end());
  double below = 0;
  for (const auto& [count, of] : counts)
    if ((below += of) >= members / 2) return count;
  return 0;
}

bool differ(double a, double b) { return std::abs(a - b) > least_count_share * std::max(a, b); }

/// The sums of each cluster; zeros for a cluster that has no members or whose values cannot be read.
class SumsOfClusters {
 public:
  SumsOfClusters(const run::IterationProfiles& profiles, const CallTree& tree)
      : profiles_(profiles), nodes_(columns_of(tree)), by_node_(run::by_node(nodes_)) {
    for (const experiment::ExtraMetric& metric : tree.extra_metrics) metrics_.ask_for(metric);
  }

  std::vector<Sums> all() const {
    std::vector<Sums> sums;
    for (std::size_t k = 0; k < profiles_.loop().clusters.size(); ++k) sums.push_back(of(k));
    return sums;
  }

 private:
  Sums of(std::size_t k) const {
    Sums own(nodes_.size(), metrics_.asked_for().size());
    const experiment::Cluster& cluster = profiles_.loop().clusters[k];
    const experiment::Unit* unit = profiles_.cluster_unit(static_cast<std::int32_t>(k));
    if (unit == nullptr || cluster.members <= 0) return own;
    own.members = static_cast<double>(cluster.members);
    own.weight = static_cast<double>(unit->weight_user_ns);
    own.weight_squares = unit->weight_user_squared;
    profiles_.with_rows(*unit, true, [&](const run::Leaf& leaf) { add(leaf, own); });
    return own;
  }

  void add(const run::Leaf& leaf, Sums& own) const {
    const auto double_of = [](const run::Quantity& of) { return static_cast<double>(of.value); };
    enum Column : std::size_t { wall, mpi, user, not_on_cpu, bytes_sent, visits, weight };
    const run::Answer of =
        answer_of(leaf, nodes_, metrics_,
                  {.keys = &by_node_,
                   .metrics = {run::wall, run::mpi, run::user, run::not_on_cpu, metrics_.of(MetricId::BytesSent),
                               metrics_.of(MetricId::Visits), metrics_.of(MetricId::Weight)},
                   .all_asked_for = true,
                   .has_errors = false});
    const auto all = [&](std::size_t column) { return double_of(of.inclusive(0, column)); };
    own.wall = all(wall);
    own.mpi = all(mpi);
    own.on_cpu = all(user) - all(not_on_cpu);
    own.bytes_sent = all(bytes_sent);
    for (std::size_t m = 0; m < own.extra.size(); ++m) own.extra[m] = all(of.asked_for(m));
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      own.ns[node] = double_of(of.exclusive(node, wall));
      own.visits[node] = double_of(of.exclusive(node, visits));
      own.weights[node] = double_of(of.exclusive(node, weight));
    }
    // Time without a call path does not set a cluster apart.
    using run::Pseudo;
    for (const Pseudo path :
         {Pseudo::NoSample, Pseudo::ArenaFull, Pseudo::Refrain, Pseudo::Stopped, Pseudo::MpiWithoutPath})
      own.ns[nodes_.of(path)] = 0;
  }

  const run::IterationProfiles& profiles_;
  const run::Nodes nodes_;
  const run::Keys by_node_;
  run::Metrics metrics_;
};

/// The values of the cluster alone: its share and differences are not set.
ClusterSummary times_of(const run::IterationProfiles& profiles, std::size_t k, const Sums& own) {
  const experiment::Loop& loop = profiles.loop();
  ClusterSummary summary;
  const experiment::Cluster& cluster = *(summary.cluster = &loop.clusters[k]);
  if (own.members <= 0) return summary;
  summary.mean_wall_s = own.wall / own.members / ns_of_second;
  summary.mean_mpi_s = own.mpi / own.members / ns_of_second;
  const int wall_column = run::overall_index(loop, "wall");
  const auto column = static_cast<std::size_t>(wall_column);
  if (wall_column >= 0 && column < cluster.squares.size()) {
    summary.deviation_wall_s = profiles.seconds(std::sqrt(std::max(0.0, cluster.squares[column] / own.members)));
    summary.min_wall_s = profiles.seconds(static_cast<double>(cluster.minimum[column]));
    summary.max_wall_s = profiles.seconds(static_cast<double>(cluster.maximum[column]));
  }
  return summary;
}

/// Compares clusters with their loop.
class Comparison {
 public:
  Comparison(const CallTree& tree, const experiment::Loop& loop, const std::vector<Sums>& clusters)
      : tree_(tree), loop_(loop), all_(tree.nodes.size(), tree.extra_metrics.size()) {
    for (const Sums& own : clusters) all_ += own;
    inclusive_ = with_children(tree, all_.ns);
    weights_ = with_children(tree, all_.weights);
    const auto usual = [&](auto total) { return usual_count(clusters, all_.members, total); };
    for (std::size_t i = 0; i < all_.visits.size(); ++i)
      usual_calls_.push_back(all_.visits[i] == 0 ? 0 : usual([i](const Sums& s) { return s.visits[i]; }));
    for (std::size_t m = 0; m < all_.extra.size(); ++m)
      usual_extra_.push_back(usual([m](const Sums& s) { return s.extra[m]; }));
    usual_bytes_ = usual([](const Sums& s) { return s.bytes_sent; });
  }

  double share_of(const Sums& own) const { return all_.wall > 0 ? own.wall / all_.wall : 0; }

  /// The differences of the cluster: times first, the largest first.
  std::vector<ClusterDifference> of(const Sums& own) const {
    std::vector<ClusterDifference> kept;
    if (own.members <= 0 || own.members == all_.members) return kept;
    keep(times(own), most_times, kept);
    keep(counts(own), most, kept);
    return kept;
  }

 private:
  struct Candidate {
    double weight;
    ClusterDifference difference;
  };
  using Candidates = std::vector<Candidate>;

  Candidates times(const Sums& own) const {
    Candidates found;
    const std::vector<double> inclusive = with_children(tree_, own.ns);
    const double wall = own.wall / own.members, usual_wall = all_.wall / all_.members;
    for (std::uint32_t i = 1; i < tree_.nodes.size(); ++i) {
      if (own.ns[i] == 0 && all_.ns[i] == 0) continue;
      const std::uint32_t node = outermost(tree_, inclusive_, i, loop_.name);
      const double here = inclusive[node] / own.members, usual = inclusive_[node] / all_.members;
      const double share = all_.weight > 0 ? weights_[node] / all_.weight : 0;
      const double error = sampling_error(own, share) + sampling_error(all_, share);
      const double apart = std::abs(here - usual);
      if (apart > least_time_share * usual_wall && apart > statistics::certain_errors * error)
        found.push_back({apart, {node, "time", true, here / ns_of_second, usual / ns_of_second}});
    }
    // If no call path is to blame, the difference is that of the wall time as a whole.
    if (found.empty() && std::abs(wall - usual_wall) > least_time_share * usual_wall)
      found.push_back({0, {0, "wall", true, wall / ns_of_second, usual_wall / ns_of_second}});
    return found;
  }

  Candidates counts(const Sums& own) const {
    Candidates found;
    // `total`: of the cluster; `total_of_all`: of the loop; `usual`: per iteration.
    const auto add = [&](ClusterDifference d, double total, double total_of_all, double usual) {
      const double here = d.cluster_mean = total / own.members, mean = d.loop_mean = total_of_all / all_.members;
      if (differ(here, mean) && differ(here, usual))
        found.push_back({std::abs(here - mean) / std::max(here, mean), std::move(d)});
    };
    for (std::uint32_t i = 1; i < tree_.nodes.size(); ++i)
      add({i, "calls", false}, own.visits[i], all_.visits[i], usual_calls_[i]);
    add({0, "bytes_sent", false}, own.bytes_sent, all_.bytes_sent, usual_bytes_);
    for (std::size_t m = 0; m < own.extra.size(); ++m) {
      const auto& [name, unit, scale] = tree_.extra_metrics[m];
      const double divisor = run::scale_of(unit) * scale;
      add({0, name, unit == "ns"}, own.extra[m] / divisor, all_.extra[m] / divisor, usual_extra_[m] / divisor);
    }
    return found;
  }

  /// Moves the candidates with the largest weights to `kept`, each difference once, until it holds `room` of them.
  static void keep(Candidates found, std::size_t room, std::vector<ClusterDifference>& kept) {
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.weight > b.weight; });
    for (Candidate& next : found) {
      if (kept.size() >= room) return;
      const bool said = std::any_of(kept.begin(), kept.end(), [&](const ClusterDifference& one) {
        return one.node == next.difference.node && one.metric == next.difference.metric;
      });
      if (!said) kept.push_back(std::move(next.difference));
    }
  }

  const CallTree& tree_;
  const experiment::Loop& loop_;
  Sums all_;
  std::vector<double> inclusive_, weights_;        ///< of the loop, by node, with children
  std::vector<double> usual_calls_, usual_extra_;  ///< per iteration, by node, by metric
  double usual_bytes_ = 0;
};

}  // namespace

std::vector<ClusterDifference> differences_of(const run::IterationProfiles& profiles, const CallTree& tree,
                                              std::span<const double> members) {
  const std::vector<Sums> sums = SumsOfClusters(profiles, tree).all();
  Sums own(tree.nodes.size(), tree.extra_metrics.size()), others = own;
  for (std::size_t k = 0; k < std::min(sums.size(), members.size()); ++k) {
    if (!(sums[k].members > 0)) continue;
    const double part = std::min(members[k] / sums[k].members, 1.0);
    own.add(sums[k], part);
    others.add(sums[k], 1 - part);
  }
  if (!(others.members > 0)) return {};
  return Comparison(tree, profiles.loop(), {others}).of(own);
}

std::vector<ClusterSummary> summarise_clusters(const run::IterationProfiles& profiles, const CallTree& tree) {
  const std::vector<Sums> sums = SumsOfClusters(profiles, tree).all();
  const Comparison comparison(tree, profiles.loop(), sums);
  std::vector<ClusterSummary> summaries;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    ClusterSummary& summary = summaries.emplace_back(times_of(profiles, k, sums[k]));
    summary.share = comparison.share_of(sums[k]);
    summary.differences = comparison.of(sums[k]);
  }
  return summaries;
}

}  // namespace refrain::analysis

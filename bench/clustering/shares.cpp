#include "bench/clustering/shares.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "offline/run/user_shares.hpp"

namespace refrain::bench {

using run::PathSamples;
using run::SharePools;
using run::ShareVariables;
using run::UserShares;

namespace {

/// Returns the overall metric that a column of an exact shape scales with. This tells which metric counts calls and
/// which ones count bytes: a sequence has no names of its metrics.
int scaling_metric(const Sequence& sequence, std::size_t column) {
  for (const ShapeTable& shape : sequence.shapes)
    if (shape.exact && column < shape.columns.size()) return shape.columns[column].scales_with;
  return clustering::no_metric;
}

class Divider {
 public:
  explicit Divider(const Sequence& sequence)
      : sequence_(sequence),
        calls_(scaling_metric(sequence, 0)),
        sent_(scaling_metric(sequence, 3)),
        received_(scaling_metric(sequence, 5)) {}

  double user(std::size_t i) const {
    const auto& overall = sequence_.iterations[i].overall;
    const auto& of = sequence_.user_time_of;
    std::int64_t rest = overall[of[0]];
    for (std::size_t m = 1; m < of.size(); ++m) rest -= overall[of[m]];
    return static_cast<double>(rest);
  }

  SharePools::Iteration facts(std::size_t i, std::uint32_t cluster, bool kept) const {
    const auto& overall = sequence_.iterations[i].overall;
    const auto at = [&](int metric) { return metric < int(overall.size()) ? overall[std::size_t(metric)] : 0; };
    SharePools::Iteration of;
    of.cluster = static_cast<std::int32_t>(cluster);
    of.kept = kept;
    of.variables.value = {static_cast<std::int64_t>(i), static_cast<std::int64_t>(user(i)), at(calls_), at(sent_),
                          at(received_)};
    of.least_on_cpu = of.most_on_cpu = of.cpu = user(i);
    return of;
  }

  /// Visits the sampled call paths of iteration `i`. The samples are in the first column, the weights in the last one.
  void for_each_sampled(std::size_t i, auto&& use) const {
    const auto& it = sequence_.iterations[i];
    std::size_t at = 0;
    for (std::size_t p = 0; p < it.path.size(); ++p) {
      const ShapeTable& shape = sequence_.shapes[it.shape[p]];
      if (!shape.exact && shape.visits != clustering::no_column)
        use(it.path[p], it.values[at], static_cast<double>(it.values[at + shape.columns.size() - 1]));
      at += shape.columns.size();
    }
  }

 private:
  const Sequence& sequence_;
  int calls_, sent_, received_;
};

}  // namespace

SharesResult divide_user_time(const Sequence& sequence, std::span<const std::uint32_t> cluster_of,
                              std::span<const std::uint32_t> class_of, const std::function<bool(std::size_t)>& kept) {
  SharesResult out;
  if (sequence.user_time_of.empty()) return out;
  const Divider divider(sequence);
  const std::size_t count = sequence.iterations.size();
  std::vector<UserShares::Cluster> clusters(class_of.size());
  std::vector<std::map<std::uint32_t, UserShares::PathSum>> sums(class_of.size());
  std::vector<double> weights(class_of.size(), 0);
  std::uint32_t paths = 0;
  for (std::size_t i = 0; i < count; ++i) {
    clusters[cluster_of[i]].on_cpu += divider.user(i);
    divider.for_each_sampled(i, [&](std::uint32_t path, std::int64_t samples, double weight) {
      UserShares::PathSum& sum = sums[cluster_of[i]].try_emplace(path, UserShares::PathSum{path, 0, 0}).first->second;
      sum.samples += samples;
      sum.time += weight;
      weights[cluster_of[i]] += weight;
      paths = std::max(paths, path + 1);
    });
    for (const auto& [path, time] : sequence.iterations[i].true_user) paths = std::max(paths, path + 1);
  }
  for (std::size_t k = 0; k < clusters.size(); ++k) {
    clusters[k].class_index = class_of[k];
    for (auto& [path, sum] : sums[k]) {
      sum.time *= weights[k] > 0 ? clusters[k].on_cpu / weights[k] : 0;
      clusters[k].paths.push_back(sum);
    }
  }
  UserShares shares(std::move(clusters));
  std::vector<PathSamples> hits;
  for (std::size_t i = 0; i < count; ++i) {
    if (!kept(i)) continue;
    hits.clear();
    divider.for_each_sampled(i, [&](std::uint32_t path, std::int64_t samples, double) {
      hits.push_back({path, samples});
    });
    shares.learn(static_cast<std::int32_t>(cluster_of[i]), divider.facts(i, cluster_of[i], true).variables, hits);
  }
  shares.grow();
  for (std::size_t i = 0; i < count; ++i) shares.weigh(divider.facts(i, cluster_of[i], kept(i)));
  const SharePools pools = shares.settle();
  out.pools = pools.pools.size();

  std::vector<double> truth(paths, 0);
  double all = 0;
  std::size_t rows = 0, within = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& it = sequence.iterations[i];
    const auto of = divider.facts(i, cluster_of[i], kept(i));
    const SharePools::Pool& pool = *pools.pool_of(of);
    const double user = divider.user(i);
    for (const auto& [path, time] : it.true_user) {
      truth[path] = time;
      all += time;
    }
    const auto compare = [&](std::uint32_t path, double share, const run::ShareSpread& spread) {
      const double difference = std::fabs(share * user - truth[path]);
      out.wrong += difference;
      ++rows;
      within += difference <= 3 * pool.error_of(share, spread) * user;
      truth[path] = 0;
    };
    for (const auto& cell : pool.shares) compare(cell.path, cell.share, cell.spread);
    for (const auto& [path, time] : it.true_user)
      if (truth[path] > 0) compare(path, 0, {});
  }
  out.wrong /= all > 0 ? all : 1;
  if (rows > 0) out.within = static_cast<double>(within) / static_cast<double>(rows);
  return out;
}

}  // namespace refrain::bench

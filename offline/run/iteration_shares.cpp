#include "offline/run/iteration_shares.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "offline/experiment/kept_pools.hpp"
#include "offline/experiment/packed.hpp"
#include "offline/run/excluded_paths.hpp"
#include "offline/run/iteration_profile.hpp"
#include "offline/run/iterations.hpp"

namespace refrain::run {
namespace {

using experiment::NodeKind;
using format::MetricId;

}  // namespace

IterationShares::IterationShares(const IterationProfiles& profiles, IterationSamples& samples)
    : profiles_(profiles), samples_(samples) {
  if (!read_kept()) find();
}

std::string IterationShares::packed() const {
  experiment::Packer packer;
  packer(paths_, pools_);
  return packer.bytes();
}

/// False: no pools are kept, or the kept ones cannot be those of this loop.
bool IterationShares::read_kept() {
  const experiment::Rank& rank = profiles_.rank();
  if (!rank.pools) return false;
  const experiment::LoopOfLocation loop{rank.rank, profiles_.location().thread,
                                        static_cast<std::uint32_t>(profiles_.loop_number())};
  const auto bytes = rank.pools->of(loop);
  if (!bytes) return false;
  experiment::Unpacker unpacker(*bytes);
  unpacker(paths_, pools_);
  const std::size_t paths = profiles_.profile().paths.size();
  const bool is_sound =
      unpacker.is_good() && std::ranges::all_of(paths_, [&](std::uint32_t path) { return path < paths; }) &&
      pools_.is_sound(paths_.size()) && (paths_.empty() || pools_.clusters.size() == profiles_.loop().clusters.size());
  if (is_sound) return true;
  rank.pools->refuse(loop, "kept pools that say nothing");
  paths_.clear();
  pools_ = {};
  return false;
}

void IterationShares::find() {
  std::vector<std::uint32_t> number(profiles_.profile().paths.size(), 0);
  auto clusters = sums(number);
  if (paths_.empty()) return;  // nothing was sampled
  UserShares shares(std::move(clusters), excluded());
  const experiment::Loop& loop = profiles_.loop();
  std::vector<PathSamples> hits;
  if (samples_.any())
    for_each_iteration(loop, [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
      const auto* recorded = profiles_.cluster_unit(cluster) ? samples_.of(i) : nullptr;
      if (recorded == nullptr || recorded->empty()) return;
      hits.clear();
      for (const SampledPath& of : *recorded)
        if (paths_[number[of.path]] == of.path) hits.push_back({number[of.path], of.samples});
      shares.learn(cluster, facts(i, cluster, row).variables, hits);
    });
  shares.grow();
  for_each_iteration(loop, [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
    if (profiles_.cluster_unit(cluster) != nullptr) shares.weigh(facts(i, cluster, row));
  });
  pools_ = shares.settle();
}

/// The sums of the clusters. Numbers the paths that have samples: `number` gets the index of each in paths_.
std::vector<UserShares::Cluster> IterationShares::sums(std::vector<std::uint32_t>& number) {
  const experiment::Loop& loop = profiles_.loop();
  const auto& of_path = profiles_.profile().paths;
  const auto count = static_cast<std::int32_t>(loop.clusters.size());
  std::vector<bool> sampled(of_path.size(), false);
  for (std::int32_t k = 0; k < count; ++k)
    if (const experiment::Unit* unit = profiles_.cluster_unit(k))
      for (const auto& row : unit->values)
        if (const NodeKind kind = of_path[row.path].kind; kind == NodeKind::Function || kind == NodeKind::Special)
          sampled[row.path] = true;
  for (std::uint32_t path = 0; path < sampled.size(); ++path)
    if (sampled[path]) {
      number[path] = static_cast<std::uint32_t>(paths_.size());
      paths_.push_back(path);
    }
  std::vector<UserShares::Cluster> clusters(loop.clusters.size());
  for (std::int32_t k = 0; k < count; ++k) {
    UserShares::Cluster& cluster = clusters[static_cast<std::size_t>(k)];
    cluster.class_index = loop.clusters[static_cast<std::size_t>(k)].class_index;
    const experiment::Unit* unit = profiles_.cluster_unit(k);
    if (unit == nullptr) continue;
    const UnitTimes times = apply_time_rules(*unit, of_path, profiles_.constants());
    cluster.alone = profiles_.is_exact(k);
    cluster.on_cpu = static_cast<double>(times.user - times.not_on_cpu);
    cluster.without_path = static_cast<double>(times.no_path);
    cluster.user_ticks = static_cast<double>(unit->ticks_user);
    cluster.mpi_ticks = static_cast<double>(unit->ticks_mpi);
    cluster.user_weight = static_cast<double>(unit->weight_user_ns);
    cluster.mpi_weight = static_cast<double>(unit->weight_mpi_ns);
    auto time = times.user_paths.begin();
    for (const auto& row : unit->values) {
      if (!sampled[row.path]) continue;
      while (time != times.user_paths.end() && time->path < row.path) ++time;
      const bool has_time = time != times.user_paths.end() && time->path == row.path;
      cluster.paths.push_back({number[row.path], value_of(*unit, row, of_path[row.path].kind, MetricId::Samples),
                               has_time ? static_cast<double>(time->ticks) : 0});
    }
  }
  return clusters;
}

/// The excluded call paths of each class, among the paths with samples.
UserShares::Excluded IterationShares::excluded() const {
  const experiment::Loop& loop = profiles_.loop();
  const auto& of_path = profiles_.profile().paths;
  std::map<std::uint32_t, ClassSums> by_class;
  for (std::size_t k = 0; k < loop.clusters.size(); ++k) {
    const experiment::Unit* unit = profiles_.cluster_unit(static_cast<std::int32_t>(k));
    if (unit == nullptr) continue;
    ClassSums& sums = by_class[loop.clusters[k].class_index];
    for (const auto& row : unit->values) {
      const NodeKind kind = of_path[row.path].kind;
      const auto value = [&](MetricId metric) { return value_of(*unit, row, kind, metric); };
      if (value(MetricId::Visits) > 0 || value(MetricId::MarkVisits) > 0) sums.visited.push_back(row.path);
      if (const std::int64_t samples = value(MetricId::Samples); samples > 0)
        sums.sampled.push_back({row.path, samples});
    }
  }
  std::vector<ClassSums> classes;
  for (auto& [index, sums] : by_class) classes.push_back(std::move(sums));
  const auto excluded = excluded_paths(of_path, classes);
  UserShares::Excluded of;
  auto at = excluded.begin();
  for (const auto& [index, sums] : by_class) {
    std::vector<bool> mine(paths_.size(), false);
    bool any = false;
    for (std::size_t i = 0; i < paths_.size() && !at->empty(); ++i)
      if ((*at)[paths_[i]]) any = mine[i] = true;
    ++at;
    if (any) of.emplace(index, std::move(mine));
  }
  return of;
}

SharePools::Iteration IterationShares::facts(std::int64_t iteration, std::int32_t cluster,
                                             std::span<const std::int64_t> row) const {
  const format::UnitTotals& totals = profiles_.sums_for_undivided_times(cluster, row);
  const format::UnitTimes times = format::undivided_times(totals, profiles_.constants());
  const LoopColumns& columns = profiles_.columns();
  SharePools::Iteration of;
  of.cluster = cluster;
  of.kept = samples_.keeps(iteration);
  using V = ShareVariables;
  of.variables.value[V::number] = iteration;
  of.variables.value[V::user_time] = times.user;
  of.variables.value[V::calls] = columns.of(row, MetricId::Visits);
  of.variables.value[V::bytes_sent] = columns.of(row, MetricId::BytesSent);
  of.variables.value[V::bytes_received] = columns.of(row, MetricId::BytesReceived);
  of.least_on_cpu = static_cast<double>(times.user - times.not_on_cpu_high);
  of.most_on_cpu = static_cast<double>(times.user - times.not_on_cpu_low);
  of.cpu = static_cast<double>(totals.cpu_ns) * profiles_.constants().ticks_per_second / 1e9;
  of.user_ticks = static_cast<double>(totals.ticks_user);
  of.mpi_ticks = static_cast<double>(totals.ticks_mpi);
  return of;
}

IterationShares::Divided IterationShares::of(std::int64_t iteration, std::int32_t cluster,
                                             std::span<const std::int64_t> row) const {
  if (paths_.empty()) return {};
  const SharePools::Iteration of = facts(iteration, cluster, row);
  const SharePools::Pool* pool = pools_.pool_of(of);
  if (pool == nullptr || pool->samples <= 0 || pool->shares.empty()) return {};
  return {pool, pool->on_cpu(of)};
}

}  // namespace refrain::run

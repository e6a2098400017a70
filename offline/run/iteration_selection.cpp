// The sums of selected call paths in one iteration: IterationProfiles::Selected.
#include <algorithm>

#include "offline/run/iteration_model.hpp"

namespace refrain::run {
namespace {

using experiment::NodeKind;
using format::MetricId;

}  // namespace

struct IterationProfiles::Selected::OfCluster {
  bool exact = false;
  std::vector<std::uint32_t> regions;  ///< selected MPI call paths: indices in mpi_column()
  // Only if `exact`.
  std::array<double, region_columns> mpi{};
  BesideMpi beside_mpi{};
};

IterationProfiles::Selected::Selected(const IterationProfiles& profiles, const PathSelection& selection)
    : profiles_(profiles), selection_(selection), clusters_(profiles.units_.size()) {
  const auto& paths = profiles.profile_.paths;
  for (std::uint32_t path = 0; path < paths.size(); ++path)
    if (chosen(path) && (paths[path].kind == NodeKind::Function || paths[path].kind == NodeKind::Special))
      sampled_ = true;
}

/// The share of the selected call paths in the user time of a pool.
const IterationProfiles::Selected::ShareOfPool& IterationProfiles::Selected::share_of(
    const SharePools::Pool& pool) const {
  shares_.resize(profiles_.shares().pools());
  ShareOfPool& sum = shares_[pool.number];
  if (sum.known) return sum;
  sum.known = true;
  for (const auto& of : pool.shares) {
    if (!chosen(profiles_.shares().path(of.path))) continue;
    sum.share += of.share;
    sum.spread += of.spread;
  }
  return sum;
}

/// The time of the selected call paths that only the time rules define, except that of MPI.
double IterationProfiles::Selected::other_ticks(const UnitTimes& times) const {
  return static_cast<double>((selection_.not_on_cpu ? times.not_on_cpu - times.waited - times.blocked : 0) +
                             (selection_.waited ? times.waited : 0) + (selection_.blocked ? times.blocked : 0) +
                             (selection_.no_sample ? times.no_sample : 0) + (selection_.refrain ? times.refrain : 0));
}

IterationProfiles::Selected::OfCluster IterationProfiles::Selected::exact_values(std::int32_t cluster) const {
  OfCluster of;
  of.exact = true;
  const experiment::Unit& sums = *profiles_.cluster_unit(cluster);
  const UnitTimes times = apply_time_rules(sums, profiles_.profile_.paths, profiles_.constants_);
  BesideMpi& beside = of.beside_mpi;
  std::int64_t off_cpu_ns = sums.off_mpi_ns;  // without a call path
  for (const auto& values : sums.values) {
    const NodeKind kind = profiles_.profile_.paths[values.path].kind;
    off_cpu_ns -= value_of(sums, values, kind, MetricId::OffCpuMpi);
    if (!chosen(values.path)) continue;
    const auto get = [&](MetricId metric) { return static_cast<double>(value_of(sums, values, kind, metric)); };
    for (std::size_t c = 0; c < region_columns; ++c) of.mpi[c] += get(format::column_metrics<NodeKind::Region>[c]);
    beside.samples += get(MetricId::Samples);
  }
  of.mpi[time_column] = selection_.mpi_without_path ? static_cast<double>(times.mpi_no_path) : 0;
  if (selection_.mpi_without_path) of.mpi[off_cpu_column] += static_cast<double>(std::max<std::int64_t>(off_cpu_ns, 0));
  for (const auto& [path, ticks] : times.mpi_paths)
    of.mpi[time_column] += chosen(path) ? static_cast<double>(ticks) : 0;
  for (const auto& [path, ticks] : times.user_paths) beside.user_ticks += chosen(path) ? static_cast<double>(ticks) : 0;
  if (sums.weight_user_squared > 0) {
    SharePools::Pool own;
    const auto weight = static_cast<double>(sums.weight_user_ns);
    own.samples = weight * weight / sums.weight_user_squared;
    const auto on_cpu = static_cast<double>(times.user - times.not_on_cpu);
    beside.user_error_ticks = on_cpu > 0 && sampled_ ? on_cpu * own.error_of(beside.user_ticks / on_cpu, {}) : 0;
  }
  beside.other_ticks = other_ticks(times);
  return of;
}

/// The values of a cluster, made when they are first needed.
const IterationProfiles::Selected::OfCluster& IterationProfiles::Selected::of_cluster(std::int32_t cluster) const {
  auto& place = clusters_[static_cast<std::size_t>(cluster)];
  if (place) return *place;
  OfCluster of;
  if (profiles_.is_exact(cluster)) of = exact_values(cluster);
  else
    for (std::uint32_t i = 0; const auto& region : profiles_.model(cluster).regions) {
      if (chosen(region.path)) of.regions.push_back(i);
      ++i;
    }
  place = std::make_shared<const OfCluster>(std::move(of));
  return *place;
}

double IterationProfiles::Selected::mpi(MetricId metric, std::int32_t cluster,
                                        std::span<const std::int64_t> row) const {
  const std::size_t column = format::column_of(metric);
  const bool without_path = selection_.mpi_without_path && (column == time_column || column == off_cpu_column);
  const auto whole = [&] {
    return column == time_column ? profiles_.mpi_ticks(cluster, row) : profiles_.columns_.of(row, metric);
  };
  if (profiles_.cluster_unit(cluster) == nullptr) return without_path ? static_cast<double>(whole()) : 0;
  const OfCluster& of = of_cluster(cluster);
  if (of.exact) return of.mpi[column];
  if (of.regions.empty() && !without_path) return 0;
  const auto values = profiles_.mpi_column(column, cluster, row);
  std::int64_t sum = without_path ? whole() : 0;
  if (without_path)
    for (const std::int64_t value : values) sum -= value;
  for (const std::uint32_t place : of.regions) sum += values[place];
  return static_cast<double>(sum);
}

IterationProfiles::Selected::BesideMpi IterationProfiles::Selected::beside_mpi(
    std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) const {
  const bool has_cluster = profiles_.cluster_unit(cluster) != nullptr;
  if (has_cluster && of_cluster(cluster).exact) return of_cluster(cluster).beside_mpi;
  BesideMpi all;
  experiment::Unit unit = profiles_.totals_of(cluster, row);
  IterationShares::Divided divided;
  if (has_cluster) divided = profiles_.divide(iteration, cluster, row, unit);
  const UnitTimes times = apply_time_rules(unit, profiles_.profile_.paths, profiles_.constants_);
  if (divided.pool != nullptr) {
    const auto& [known, share, spread] = share_of(*divided.pool);
    const double part = 1 - divided.pool->without_path;
    const double by_paths = part * static_cast<double>(times.user - times.not_on_cpu);
    all.user_ticks = by_paths * share;
    all.user_error_ticks = sampled_ ? by_paths * divided.pool->error_of(share, spread) : 0;
    all.samples = static_cast<double>(unit.ticks_user) * share * part;
  }
  all.other_ticks = other_ticks(times);
  return all;
}

}  // namespace refrain::run

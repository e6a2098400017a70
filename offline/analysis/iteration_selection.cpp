// What chosen call paths have in one iteration: IterationProfiles::Selected.
#include <algorithm>

#include "offline/analysis/iteration_model.hpp"
#include "offline/analysis/reconstruct.hpp"

namespace refrain::analysis {
namespace {

using experiment::NodeKind;
using format::MetricId;

}  // namespace

/// Sums over the selected call paths. A column follows its metric of the whole iteration linearly, so the sums do.
struct IterationProfiles::Selected::OfCluster {
  std::array<std::int64_t, region_columns> sum{};
  std::array<double, region_columns> slope{}, second_slope{};
  bool exact = false;
  PathTotals totals;  ///< of a cluster of one member
};

IterationProfiles::Selected::Selected(const IterationProfiles& profiles, const PathSelection& selection)
    : profiles_(profiles), selection_(selection), clusters_(profiles.units_.size()) {
  const auto& paths = profiles.profile_.paths;
  for (std::size_t path = 0; path < std::min(paths.size(), selection.paths.size()); ++path)
    if (selection.paths[path] && (paths[path].kind == NodeKind::Function || paths[path].kind == NodeKind::Special))
      sampled_ = true;
}

/// What the selected call paths have of the user time of a pool.
const IterationProfiles::Selected::ShareOfPool& IterationProfiles::Selected::share_of(
    const UserShares::Pool& pool) const {
  shares_.resize(profiles_.shares().pools());
  ShareOfPool& sum = shares_[pool.number];
  if (sum.known) return sum;
  sum.known = true;
  for (const auto& of : pool.shares) {
    const std::uint32_t path = profiles_.shares().path(of.path);
    if (path >= selection_.paths.size() || !selection_.paths[path]) continue;
    sum.share += of.share;
    sum.spread += of.spread;
  }
  return sum;
}

IterationProfiles::PathTotals IterationProfiles::Selected::in(std::int64_t iteration, std::int32_t cluster,
                                                              std::span<const std::int64_t> row) const {
  PathTotals totals;
  const auto chosen = [&](std::uint32_t path) { return path < selection_.paths.size() && selection_.paths[path]; };
  const auto other_ticks = [&](const UnitTimes& times) {
    return static_cast<double>((selection_.not_on_cpu ? times.not_on_cpu : 0) +
                               (selection_.no_sample ? times.no_sample : 0) + (selection_.refrain ? times.refrain : 0));
  };
  const experiment::Unit* sums = profiles_.cluster_unit(cluster);
  if (sums == nullptr) {
    totals.other_ticks = other_ticks(
        apply_time_rules(profiles_.totals_of(cluster, row), profiles_.profile_.paths, profiles_.constants_));
    return totals;
  }
  auto& place = clusters_[static_cast<std::size_t>(cluster)];
  if (!place) {
    auto made = std::make_shared<OfCluster>();
    made->exact = profiles_.is_exact(cluster);
    if (made->exact) {
      const UnitTimes times = apply_time_rules(*sums, profiles_.profile_.paths, profiles_.constants_);
      PathTotals& all = made->totals;
      for (const auto& values : sums->values) {
        if (!chosen(values.path)) continue;
        const NodeKind kind = profiles_.profile_.paths[values.path].kind;
        const auto get = [&](MetricId metric) { return static_cast<double>(value_of(*sums, values, kind, metric)); };
        for (std::size_t c = 0; c < region_columns; ++c) all.mpi[c] += get(format::column_metrics<NodeKind::Region>[c]);
        all.samples += get(MetricId::Samples);
      }
      all.mpi[time_column] = selection_.mpi_without_path ? static_cast<double>(times.mpi_no_path) : 0;
      for (const auto& [path, ticks] : times.mpi_paths)
        all.mpi[time_column] += chosen(path) ? static_cast<double>(ticks) : 0;
      for (const auto& [path, ticks] : times.user_paths)
        all.user_ticks += chosen(path) ? static_cast<double>(ticks) : 0;
      if (sums->weight_user_squared > 0) {
        UserShares::Pool own;
        const auto weight = static_cast<double>(sums->weight_user_ns);
        own.samples = weight * weight / sums->weight_user_squared;
        const auto on_cpu = static_cast<double>(times.user - times.not_on_cpu);
        all.user_error_ticks = on_cpu > 0 && sampled_ ? on_cpu * own.error_of(all.user_ticks / on_cpu, {}) : 0;
      }
      all.other_ticks = other_ticks(times);
    } else {
      const Model& model = profiles_.model(cluster);
      for (const auto& region : model.regions) {
        if (!chosen(region.path)) continue;
        for (std::size_t c = 0; c < region_columns; ++c) {
          made->sum[c] += region.sum[c];
          made->slope[c] += region.slope[c];
          made->second_slope[c] += region.second_slope[c];
        }
      }
      if (selection_.mpi_without_path && model.overall_sum[time_column] > model.path_sum[time_column]) {
        const std::int64_t lost = model.overall_sum[time_column] - model.path_sum[time_column];
        made->sum[time_column] += lost;
        made->slope[time_column] += static_cast<double>(lost) / static_cast<double>(model.overall_sum[time_column]);
      }
    }
    place = std::move(made);
  }
  const OfCluster& of = *place;
  if (of.exact) return of.totals;

  experiment::Unit unit = profiles_.totals_of(cluster, row);
  const IterationShares::Divided divided = profiles_.divide(iteration, cluster, row, unit);
  const UnitTimes times = apply_time_rules(unit, profiles_.profile_.paths, profiles_.constants_);
  const Model& model = profiles_.model(cluster);
  const auto column = [&](std::size_t total) {
    ReconstructionInput in;
    in.sum = of.sum[total];
    in.members = static_cast<std::uint64_t>(profiles_.members(cluster));
    in.overall_sum = model.overall_sum[total];
    const int at = profiles_.columns_.of_path(total);
    in.scales = at >= 0;
    in.overall_value = at < 0 ? 0 : static_cast<double>(row[static_cast<std::size_t>(at)]);
    in.has_slope = true;
    in.slope = static_cast<float>(of.slope[total]);
    if (const int second = model.second[total]; second >= 0) {
      in.second_slope = static_cast<float>(of.second_slope[total]);
      in.second_overall_sum = model.overall_sum[static_cast<std::size_t>(second)];
      in.second_overall_value = static_cast<double>(
          row[static_cast<std::size_t>(profiles_.columns_.of_path(static_cast<std::size_t>(second)))]);
    }
    return std::max(0.0, reconstruct(in));
  };
  for (std::size_t c = 0; c < region_columns; ++c) totals.mpi[c] = column(c);
  totals.mpi[time_column] = std::min(totals.mpi[time_column], static_cast<double>(times.mpi));
  if (divided.pool != nullptr) {
    const auto& [known, share, spread] = share_of(*divided.pool);
    const double part = 1 - divided.pool->without_path;
    const double by_paths = part * static_cast<double>(times.user - times.not_on_cpu);
    totals.user_ticks = by_paths * share;
    totals.user_error_ticks = sampled_ ? by_paths * divided.pool->error_of(share, spread) : 0;
    totals.samples = static_cast<double>(unit.ticks_user) * share * part;
  }
  totals.other_ticks = other_ticks(times);
  return totals;
}

}  // namespace refrain::analysis

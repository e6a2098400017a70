#include "offline/run/iteration_profile.hpp"

#include <algorithm>
#include <map>

#include "offline/run/iteration_model.hpp"
#include "offline/run/reconstruct.hpp"
#include "offline/run/rows.hpp"
#include "offline/run/totals.hpp"

namespace refrain::run {

using iteration_values::round_to_total;
using iteration_values::to_count;

namespace {

using experiment::NodeKind;
using format::MetricId;

constexpr std::size_t samples_column = format::column_of(MetricId::Samples);
constexpr std::size_t weight_column = format::column_of(MetricId::Weight);

/// Replaces the sums over call paths by the totals of the unit where MPI without a call path may have a part of them.
template <class Number>
void take_totals(const experiment::Unit& unit, std::array<Number, region_columns>& sums) {
  sums[calls_column] = static_cast<Number>(unit.mpi_calls);
  sums[time_column] = static_cast<Number>(unit.mpi);
  sums[off_cpu_column] = std::max(sums[off_cpu_column], static_cast<Number>(unit.off_mpi_ns));
}

}  // namespace

/// Statistics of all clusters of one class.
struct IterationProfiles::Pool {
  /// Regression over the clusters, of a call path's column on the overall metric that it scales with.
  struct Slope {
    std::array<double, region_columns> scatter{};
  };
  std::map<std::uint32_t, Slope> slopes;
  std::array<double, region_columns> overall_mean{}, between{}, within{};
};

IterationProfiles::IterationProfiles(const experiment::ProfileDefinitions& profile, const experiment::Rank& rank,
                                     const experiment::Location& location, std::size_t loop)
    : profile_(profile),
      rank_(rank),
      location_(location),
      loop_(location.loops[loop]),
      loop_index_(loop),
      constants_(constants_of(rank, location)),
      columns_(loop_),
      extra_(profile.paths, rank.extra_metrics, loop_, units_) {
  units_.assign(loop_.clusters.size(), nullptr);
  for (const experiment::Unit& unit : location.units)
    if (unit.loop == static_cast<std::int32_t>(loop) && unit.cluster >= 0 &&
        static_cast<std::size_t>(unit.cluster) < units_.size())
      units_[static_cast<std::size_t>(unit.cluster)] = &unit;
  models_.resize(units_.size());
}

IterationProfiles::~IterationProfiles() = default;

const experiment::Unit* IterationProfiles::cluster_unit(std::int32_t cluster) const {
  return cluster >= 0 && static_cast<std::size_t>(cluster) < units_.size() ? units_[static_cast<std::size_t>(cluster)]
                                                                           : nullptr;
}

void IterationProfiles::with_rows(const experiment::Unit& unit, bool is_exact,
                                  const std::function<void(const Leaf&)>& take) const {
  const experiment::RunTotals totals = run::totals_of({&unit, 1}, rank_, location_, profile_.paths);
  if (!leaves_) leaves_ = std::make_unique<const Leaves>(profile_);
  Leaf leaf = leaves_->of(rank_, location_, totals);
  leaf.is_whole_run = false;
  leaf.is_exact = is_exact;
  take(leaf);
}

std::vector<MpiCalls> IterationProfiles::calls_of(std::int32_t cluster) const {
  const experiment::Unit* unit = cluster_unit(cluster);
  return unit ? mpi_calls_of(*unit, rank_, profile_.paths) : std::vector<MpiCalls>();
}

std::int64_t IterationProfiles::members(std::int32_t cluster) const {
  return std::max<std::int64_t>(0, loop_.clusters[static_cast<std::size_t>(cluster)].members);
}

bool IterationProfiles::is_exact(std::int32_t cluster) const {
  const experiment::Unit* unit = cluster_unit(cluster);
  return unit != nullptr && members(cluster) == 1 && unit->ticks_user >= enough_samples;
}

IterationSamples& IterationProfiles::kept_samples() const {
  if (!samples_) samples_ = std::make_unique<IterationSamples>(profile_, rank_, loop_);
  return *samples_;
}

const IterationShares& IterationProfiles::shares() const {
  if (!shares_) shares_ = std::make_unique<IterationShares>(*this, kept_samples());
  return *shares_;
}

/// The slopes of a class; null: the program did not learn them.
const experiment::ClassSlopes* IterationProfiles::learned_slopes(std::uint32_t class_index) const {
  const auto at = std::find_if(loop_.slopes.begin(), loop_.slopes.end(), [&](const experiment::ClassSlopes& slopes) {
    return slopes.class_index == class_index;
  });
  return at == loop_.slopes.end() ? nullptr : &*at;
}

/// The second total that a column scales with, besides its own, in the learned slopes; -1: none; -2: the slopes were
/// learned for metrics that are not known here.
int IterationProfiles::second_total(std::size_t column) const {
  constexpr int none = -1, unknown = -2;
  if (column >= loop_.scales_with.size()) return unknown;
  const experiment::ScalesWith& scales_with = loop_.scales_with[column];
  if (scales_with.first < 0 || scales_with.first != columns_.of_path(column)) return unknown;
  if (scales_with.second < 0) return none;
  for (std::size_t total = 0; total < region_columns; ++total)
    if (columns_.of_path(total) == scales_with.second) return static_cast<int>(total);
  return unknown;
}

const IterationProfiles::Pool& IterationProfiles::pool(std::uint32_t class_index) const {
  for (const auto& [index, pool] : pools_)
    if (index == class_index) return *pool;
  auto pool = std::make_unique<Pool>();
  double members_sum = 0;
  struct OfCluster {
    const experiment::Unit* unit;
    double members;
    std::array<double, region_columns> mean;
  };
  std::vector<OfCluster> clusters;
  for (std::size_t k = 0; k < units_.size(); ++k) {
    const experiment::Cluster& cluster = loop_.clusters[k];
    const experiment::Unit* unit = units_[k];
    if (unit == nullptr || cluster.class_index != class_index || cluster.members <= 0) continue;
    const auto n = static_cast<double>(cluster.members);
    OfCluster of{unit, n, {}};
    for (const auto& row : unit->values) {
      const NodeKind kind = profile_.paths[row.path].kind;
      if (kind != NodeKind::Region) continue;
      for (std::size_t c = 0; c < region_columns; ++c) of.mean[c] += static_cast<double>(unit->columns[row.first + c]);
    }
    take_totals(*unit, of.mean);
    for (std::size_t c = 0; c < region_columns; ++c) {
      pool->overall_mean[c] += of.mean[c];
      of.mean[c] /= n;
      const int column = columns_.of_path(c);
      if (column >= 0 && static_cast<std::size_t>(column) < cluster.squares.size())
        pool->within[c] += cluster.squares[static_cast<std::size_t>(column)];
    }
    members_sum += n;
    clusters.push_back(of);
  }
  for (double& mean : pool->overall_mean) mean = members_sum > 0 ? mean / members_sum : 0;
  for (const OfCluster& of : clusters) {
    std::array<double, region_columns> apart{};
    for (std::size_t c = 0; c < region_columns; ++c) {
      apart[c] = of.mean[c] - pool->overall_mean[c];
      pool->between[c] += of.members * apart[c] * apart[c];
    }
    // A path's own mean drops out: the weighted distances of the overall metric add up to zero.
    for (const auto& row : of.unit->values) {
      if (profile_.paths[row.path].kind != NodeKind::Region) continue;
      auto& scatter = pool->slopes[row.path].scatter;
      for (std::size_t c = 0; c < region_columns; ++c)
        scatter[c] += apart[c] * static_cast<double>(of.unit->columns[row.first + c]);
    }
  }
  pools_.emplace_back(class_index, std::move(pool));
  return *pools_.back().second;
}

const IterationProfiles::Model& IterationProfiles::model(std::int32_t index) const {
  auto& place = models_[static_cast<std::size_t>(index)];
  if (place) return *place;
  place = std::make_unique<Model>();
  Model& model = *place;
  const experiment::Unit& unit = *units_[static_cast<std::size_t>(index)];
  const experiment::Cluster& cluster = loop_.clusters[static_cast<std::size_t>(index)];
  const Pool& pool = this->pool(cluster.class_index);

  for (const auto& row : unit.values) {
    const NodeKind kind = profile_.paths[row.path].kind;
    if (kind == NodeKind::Region) {
      Model::Region region{row.path, {}, {}, {}};
      for (std::size_t c = 0; c < region_columns; ++c) {
        region.sum[c] = unit.columns[row.first + c];
        model.path_sum[c] += region.sum[c];
      }
      model.regions.push_back(region);
    }
  }
  model.overall_sum = model.path_sum;
  take_totals(unit, model.overall_sum);
  // Uses the slopes that were learned inside the clusters of the class; a call path that belongs to this cluster only
  // is proportional to the overall metric. Without learned slopes, uses the slope between the clusters of the class, as
  // far as clusters differ more than their members do; for the rest, the value is proportional to the overall metric.
  const experiment::ClassSlopes* learned_slopes = this->learned_slopes(cluster.class_index);
  for (std::size_t c = 0; c < region_columns; ++c) {
    const int second = learned_slopes ? second_total(c) : -2;
    const bool by_learning = second >= -1;
    model.second[c] = second;
    const auto whole = static_cast<double>(model.overall_sum[c]);
    const double spread = pool.between[c] + pool.within[c];
    const double trust = spread > 0 ? pool.between[c] / spread : 0;
    std::vector<double> proportional(model.regions.size(), 0), slope(model.regions.size(), 0);
    double parts = 0, slopes = 0;
    for (std::size_t i = 0; i < model.regions.size(); ++i) {
      const auto known = pool.slopes.find(model.regions[i].path);
      parts += proportional[i] = whole != 0 ? static_cast<double>(model.regions[i].sum[c]) / whole : 0;
      const bool learned = pool.between[c] > 0 && known != pool.slopes.end();
      slope[i] = proportional[i];
      if (by_learning) {
        const auto& rows = learned_slopes->paths;
        const auto row = std::lower_bound(rows.begin(), rows.end(), model.regions[i].path,
                                          [](const auto& of, std::uint32_t path) { return of.path < path; });
        if (row != rows.end() && row->path == model.regions[i].path) {
          slope[i] = static_cast<double>(row->first[c]);
          model.regions[i].second_slope[c] = row->second[c];
        }
      } else if (learned) slope[i] += trust * (known->second.scatter[c] / pool.between[c] - proportional[i]);
      slopes += slope[i];
    }
    // If clusters do not all have the same call paths, the slopes of the call paths do not add up by themselves.
    for (std::size_t i = 0; i < model.regions.size(); ++i)
      model.regions[i].slope[c] =
          static_cast<float>(slope[i] + (parts > 0 ? (parts - slopes) * proportional[i] / parts : 0));
  }

  return model;
}

format::UnitTotals IterationProfiles::sums_of(std::int32_t cluster, std::span<const std::int64_t> row) const {
  const experiment::Unit* sums = cluster_unit(cluster);
  if (sums != nullptr && members(cluster) == 1) return *sums;  // not even rounded
  format::UnitTotals totals{};
  for (const auto& column : format::total_columns) totals.*column.total = columns_.of(row, column.metric);
  return totals;
}

namespace {

/// The totals among the inputs of undivided_times().
constexpr auto columns_for_undivided_times = [] {
  std::array<format::TotalColumn, std::size(format::inputs_of_undivided_times)> columns{};
  std::size_t n = 0;
  for (const format::TotalColumn& column : format::total_columns)
    for (const auto input : format::inputs_of_undivided_times)
      if (column.total == input) columns[n++] = column;
  return columns;
}();

}  // namespace

const format::UnitTotals& IterationProfiles::sums_for_undivided_times(std::int32_t cluster,
                                                                      std::span<const std::int64_t> row) const {
  const experiment::Unit* sums = cluster_unit(cluster);
  if (sums != nullptr && members(cluster) == 1) return *sums;
  for (const auto& column : columns_for_undivided_times)
    sums_for_undivided_times_.*column.total = columns_.of(row, column.metric);
  return sums_for_undivided_times_;
}

experiment::Unit IterationProfiles::totals_of(std::int32_t cluster, std::span<const std::int64_t> row) const {
  const experiment::Unit* sums = cluster_unit(cluster);
  const bool is_alone = sums != nullptr && members(cluster) == 1;
  experiment::Unit unit;
  static_cast<format::UnitTotals&>(unit) = sums_of(cluster, row);
  unit.loop = is_alone ? sums->loop : static_cast<std::int32_t>(loop_index_);
  unit.cluster = is_alone ? sums->cluster : cluster;
  return unit;
}

/// Sets the weights of ticks so that the time rules divide the user time like the iteration's pool. The weights are CPU
/// time, of as many samples as the pool has.
IterationShares::Divided IterationProfiles::divide(std::int64_t iteration, std::int32_t cluster,
                                                   std::span<const std::int64_t> row, experiment::Unit& unit) const {
  const IterationShares::Divided divided = shares().of(iteration, cluster, row);
  unit.weight_user_ns = unit.weight_mpi_ns = 0;
  unit.weight_user_squared = 0;
  if (divided.pool == nullptr) return divided;
  unit.weight_user_ns = to_count(divided.on_cpu / constants_.ticks_per_second * 1e9);
  unit.weight_mpi_ns = std::max<std::int64_t>(0, unit.cpu_ns - unit.weight_user_ns);
  const auto weight = static_cast<double>(unit.weight_user_ns);
  unit.weight_user_squared = weight * weight / divided.pool->samples;
  return divided;
}

experiment::Unit IterationProfiles::unit_of(std::int64_t iteration, std::int32_t cluster,
                                            std::span<const std::int64_t> row,
                                            const std::vector<SampledPath>* recorded) const {
  const experiment::Unit* sums = cluster_unit(cluster);
  if (is_exact(cluster)) return *sums;
  experiment::Unit unit = totals_of(cluster, row);
  unit.extra = extra_.values_of(cluster, row);
  if (sums == nullptr) return unit;
  const Model& of = model(cluster);
  std::map<std::uint32_t, std::vector<std::int64_t>> rows;

  for (std::size_t c = 0; c < region_columns; ++c) {
    const auto values = mpi_column(c, cluster, row);
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto& out = rows[of.regions[i].path];
      out.resize(region_columns, 0);
      out[c] = values[i];
    }
  }

  if (const auto divided = divide(iteration, cluster, row, unit); divided.pool != nullptr) {
    std::vector<double> shares;
    for (const auto& of_path : divided.pool->shares) shares.push_back(of_path.share);
    const double part = 1 - divided.pool->without_path;
    std::vector<std::int64_t> ticks, weights;
    round_to_total(to_count(static_cast<double>(unit.ticks_user) * part), shares, ticks, room_);
    round_to_total(to_count(static_cast<double>(unit.weight_user_ns) * part), shares, weights, room_);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      auto& out = rows[this->shares().path(divided.pool->shares[i].path)];
      out.assign(format::columns_of(NodeKind::Function), 0);
      out[samples_column] = recorded ? 0 : ticks[i];
      out[weight_column] = weights[i];
    }
  }
  if (recorded)
    for (const SampledPath& sampled : *recorded) {
      auto& out = rows[sampled.path];
      out.resize(format::columns_of(NodeKind::Function), 0);
      out[samples_column] = sampled.samples;
    }

  // The total that the values of loops and regions scale with, of the cluster and of the iteration.
  const auto total_pair = [&](std::size_t column) -> std::pair<std::int64_t, std::int64_t> {
    if (column == format::column_of(MetricId::MarkWaited)) return {sums->waited_ns, unit.waited_ns};
    if (column != format::column_of(MetricId::MarkOffCpu)) return {sums->wall, unit.wall};
    return {format::undivided_times(*sums, constants_).not_on_cpu_low,
            format::undivided_times(unit, constants_).not_on_cpu_low};
  };
  for (const auto& value : sums->values) {
    if (profile_.paths[value.path].kind != NodeKind::Marked) continue;
    auto& out = rows[value.path];
    for (std::size_t c = 0; c < format::columns_of(NodeKind::Marked); ++c) {
      const auto [of_cluster, of_iteration] = total_pair(c);
      ReconstructionInput in;
      in.sum = sums->columns[value.first + c];
      in.members = static_cast<std::uint64_t>(members(cluster));
      in.overall_sum = of_cluster;
      in.overall_value = static_cast<double>(of_iteration);
      in.scales = c != format::column_of(MetricId::MarkVisits);
      out.push_back(to_count(reconstruct(in)));
    }
  }
  for (const auto& [path, values] : rows) {
    if (std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v == 0; })) continue;
    unit.values.push_back({path, static_cast<std::uint32_t>(unit.columns.size())});
    unit.columns.insert(unit.columns.end(), values.begin(), values.end());
  }
  return unit;
}

}  // namespace refrain::run

#include "analysis/iteration_profile.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/iterations.hpp"
#include "clustering/reconstruct.hpp"

namespace refrain::analysis {
namespace {

using archive::NodeKind;
using measurement::MetricId;

/// What an iteration's vector says of the iteration as a whole. The first are what the columns of an MPI call path
/// follow, in the order of those.
enum Total : std::uint8_t {
  mpi_calls,
  mpi,
  messages_sent,
  bytes_sent,
  messages_received,
  bytes_received,
  messages_completed,
  bytes_completed,
  bytes_read,
  bytes_written,
  wall,
  own,
  cpu,
  samples,
  samples_mpi
};
constexpr const char* total_names[] = {"mpi_calls",
                                       "mpi",
                                       "messages_sent",
                                       "bytes_sent",
                                       "messages_received",
                                       "bytes_received",
                                       "messages_completed",
                                       "bytes_completed",
                                       "bytes_read",
                                       "bytes_written",
                                       "wall",
                                       "own",
                                       "cpu",
                                       "samples",
                                       "samples_mpi"};
constexpr std::size_t region_columns = measurement::columns_of(NodeKind::Region);
static_assert(region_columns == wall && measurement::column_of(MetricId::Time) == mpi &&
              measurement::column_of(MetricId::BytesWritten) == bytes_written &&
              static_cast<std::size_t>(MetricId::BytesWritten) == bytes_written);
constexpr std::size_t samples_column = measurement::column_of(MetricId::Samples);
constexpr std::size_t weight_column = measurement::column_of(MetricId::Weight);

/// Fewer samples than this say less about an iteration or a cluster than its class does.
constexpr std::int64_t enough_samples = 10;

bool is_sampled(NodeKind kind) { return kind == NodeKind::Function || kind == NodeKind::Special; }

/// Integers in proportion to `values` that add up to `total`. Fractions count: they are what tells small counts apart.
std::vector<std::int64_t> round_to_total(std::int64_t total, std::span<const double> values) {
  const double largest = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  std::vector<std::int64_t> weights(values.size(), 0);
  if (largest > 0) {
    const double scale = 0x1p61 / largest;
    for (std::size_t i = 0; i < values.size(); ++i)
      weights[i] = static_cast<std::int64_t>(std::max(values[i], 0.0) * scale);
  }
  return share_by_largest_remainder(total, weights);
}

std::int64_t to_count(double value) { return value > 0 ? static_cast<std::int64_t>(std::min(value + 0.5, 9e18)) : 0; }

}  // namespace

/// What timer ticks weigh, by the time that they stand for.
struct IterationProfiles::SampleRates {
  double user_ticks = 0, mpi_ticks = 0;  ///< time of the clock
  double weight_user = 0, weight_mpi = 0, weight_squares = 0;
  double path_weight = 0, ticks = 0, path_samples = 0;  ///< with a call path; all; all with a call path
  double user_rate() const { return user_ticks > 0 ? weight_user / user_ticks : 0; }
  double mpi_rate() const { return mpi_ticks > 0 ? weight_mpi / mpi_ticks : 0; }
  double path_part() const { return weight_user > 0 ? path_weight / weight_user : 1; }
  double samples_part() const { return ticks > 0 ? path_samples / ticks : 1; }
  void operator+=(const SampleRates& other) {
    user_ticks += other.user_ticks;
    mpi_ticks += other.mpi_ticks;
    weight_user += other.weight_user;
    weight_mpi += other.weight_mpi;
    weight_squares += other.weight_squares;
    path_weight += other.path_weight;
    ticks += other.ticks;
    path_samples += other.path_samples;
  }
};

/// What the clusters of one class say together.
struct IterationProfiles::Pool {
  clustering::SampledClass whole;
  std::map<std::uint32_t, clustering::SampledPath> sampled;
  /// Regression over the clusters, of a call path's column on the overall metric that it follows.
  struct Slope {
    std::array<double, region_columns> scatter{};
  };
  std::map<std::uint32_t, Slope> slopes;
  std::array<double, region_columns> overall_mean{}, between{}, within{};
  SampleRates rates;
};

/// What reconstructing the iterations of one cluster takes.
struct IterationProfiles::Model {
  std::array<std::int64_t, region_columns> overall_sum{};  ///< of the members
  std::array<std::int64_t, region_columns> path_sum{};     ///< over the call paths; less where paths were lost
  std::array<int, region_columns> second{};                ///< the second total that a column follows; -1: none
  SampleRates rates;                                       ///< of the cluster, or of its class
  struct Region {
    std::uint32_t path;
    std::array<std::int64_t, region_columns> sum;
    std::array<float, region_columns> slope, second_slope;
  };
  struct Sampled {
    std::uint32_t path;
    double share;
  };
  std::vector<Region> regions;
  std::vector<Sampled> sampled;
};

IterationProfiles::IterationProfiles(const archive::Profile& profile, const archive::Rank& rank,
                                     const archive::Location& location, std::size_t loop)
    : profile_(profile),
      rank_(rank),
      loop_(location.loops[loop]),
      loop_index_(loop),
      constants_(constants_of(rank)),
      extra_(profile, loop_, units_) {
  static_assert(std::size(total_names) == std::tuple_size_v<decltype(columns_)>);
  for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i] = overall_index(loop_, total_names[i]);
  units_.assign(loop_.clusters.size(), nullptr);
  for (const archive::Unit& unit : location.units)
    if (unit.loop == static_cast<std::int32_t>(loop) && unit.cluster >= 0 &&
        static_cast<std::size_t>(unit.cluster) < units_.size())
      units_[static_cast<std::size_t>(unit.cluster)] = &unit;
  models_.resize(units_.size());
}

IterationProfiles::~IterationProfiles() = default;

const archive::Unit* IterationProfiles::cluster_unit(std::int32_t cluster) const {
  return cluster >= 0 && static_cast<std::size_t>(cluster) < units_.size() ? units_[static_cast<std::size_t>(cluster)]
                                                                           : nullptr;
}

std::int64_t IterationProfiles::members(std::int32_t cluster) const {
  return std::max<std::int64_t>(0, loop_.clusters[static_cast<std::size_t>(cluster)].members);
}

bool IterationProfiles::is_exact(std::int32_t cluster) const {
  const archive::Unit* unit = cluster_unit(cluster);
  return unit != nullptr && members(cluster) == 1 && unit->ticks_user >= enough_samples;
}

IterationProfiles::SampleRates IterationProfiles::rates_of(const archive::Unit& unit) const {
  const UnitTimes times = apply_time_rules(unit, profile_.paths, constants_);
  SampleRates rates;
  rates.user_ticks = static_cast<double>(times.user);
  rates.mpi_ticks = static_cast<double>(times.mpi);
  rates.weight_user = static_cast<double>(unit.weight_user_ns);
  rates.weight_mpi = static_cast<double>(unit.weight_mpi_ns);
  rates.weight_squares = unit.weight_user_squared;
  rates.ticks = static_cast<double>(unit.ticks_user);
  for (const auto& row : unit.values) {
    const NodeKind kind = profile_.paths[row.path].kind;
    if (!is_sampled(kind)) continue;
    rates.path_weight += static_cast<double>(value_of(unit, row, kind, MetricId::Weight));
    rates.path_samples += static_cast<double>(value_of(unit, row, kind, MetricId::Samples));
  }
  return rates;
}

IterationSamples& IterationProfiles::kept_samples() const {
  if (!samples_) samples_ = std::make_unique<IterationSamples>(profile_, rank_, loop_);
  return *samples_;
}

/// Null: the program did not learn them.
const archive::ClassSlopes* IterationProfiles::learned_slopes(std::uint32_t class_index) const {
  const auto at = std::find_if(loop_.slopes.begin(), loop_.slopes.end(),
                               [&](const archive::ClassSlopes& slopes) { return slopes.class_index == class_index; });
  return at == loop_.slopes.end() ? nullptr : &*at;
}

/// The total that a column follows besides its own, as slopes were learned; -1: none; -2: they were learned of metrics
/// that are not known here.
int IterationProfiles::second_total(std::size_t column) const {
  constexpr int none = -1, unknown = -2;
  if (column >= loop_.follows.size()) return unknown;
  const archive::Follows& follows = loop_.follows[column];
  if (follows.first < 0 || follows.first != columns_[column]) return unknown;
  if (follows.second < 0) return none;
  for (std::size_t total = 0; total < region_columns; ++total)
    if (columns_[total] == follows.second) return static_cast<int>(total);
  return unknown;
}

const IterationProfiles::Pool& IterationProfiles::pool(std::uint32_t class_index) const {
  for (const auto& [index, pool] : pools_)
    if (index == class_index) return *pool;
  auto pool = std::make_unique<Pool>();
  double members_sum = 0;
  struct OfCluster {
    const archive::Unit* unit;
    double members;
    std::array<double, region_columns> mean;
  };
  std::vector<OfCluster> clusters;
  for (std::size_t k = 0; k < units_.size(); ++k) {
    const archive::Cluster& cluster = loop_.clusters[k];
    const archive::Unit* unit = units_[k];
    if (unit == nullptr || cluster.class_index != class_index || cluster.members <= 0) continue;
    const auto n = static_cast<double>(cluster.members);
    const SampleRates rates = rates_of(*unit);
    pool->rates += rates;
    OfCluster of{unit, n, {}};
    for (const auto& row : unit->values) {
      const NodeKind kind = profile_.paths[row.path].kind;
      if (kind != NodeKind::Region) continue;
      for (std::size_t c = 0; c < region_columns; ++c) of.mean[c] += static_cast<double>(unit->columns[row.first + c]);
    }
    of.mean[mpi_calls] = static_cast<double>(unit->mpi_calls);
    of.mean[mpi] = static_cast<double>(unit->mpi);
    pool->whole.add_cluster(rates.path_weight);
    for (const auto& row : unit->values)
      if (const NodeKind kind = profile_.paths[row.path].kind; is_sampled(kind))
        pool->sampled[row.path].add_cluster(static_cast<double>(value_of(*unit, row, kind, MetricId::Weight)),
                                            rates.path_weight);
    for (std::size_t c = 0; c < region_columns; ++c) {
      pool->overall_mean[c] += of.mean[c];
      of.mean[c] /= n;
      const int column = columns_[c];
      if (column >= 0 && static_cast<std::size_t>(column) < cluster.squares.size())
        pool->within[c] += cluster.squares[static_cast<std::size_t>(column)];
    }
    members_sum += n;
    clusters.push_back(of);
  }
  const SampleRates& rates = pool->rates;
  pool->whole.tick = rates.weight_user > 0 ? rates.weight_squares / rates.weight_user : 0;
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
  const archive::Unit& unit = *units_[static_cast<std::size_t>(index)];
  const archive::Cluster& cluster = loop_.clusters[static_cast<std::size_t>(index)];
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
  model.overall_sum[mpi_calls] = unit.mpi_calls;
  model.overall_sum[mpi] = unit.mpi;
  // The slopes that were learned inside the clusters of the class; a call path that belongs to this cluster only is in
  // proportion to the overall metric. Without them the slope that the class shows between its clusters, as far as they
  // differ more among each other than their members do; for the rest the value is proportional to the overall metric.
  const archive::ClassSlopes* learned_slopes = this->learned_slopes(cluster.class_index);
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
    // Where not all clusters have the same call paths the slopes of these do not add up by themselves.
    for (std::size_t i = 0; i < model.regions.size(); ++i)
      model.regions[i].slope[c] =
          static_cast<float>(slope[i] + (parts > 0 ? (parts - slopes) * proportional[i] / parts : 0));
  }

  const SampleRates own = rates_of(unit);
  model.rates = unit.ticks_user + unit.ticks_mpi >= enough_samples && own.path_weight > 0 ? own : pool.rates;

  std::map<std::uint32_t, double> weights;
  for (const auto& [path, sums] : pool.sampled) weights[path] = 0;
  for (const auto& row : unit.values)
    if (const NodeKind kind = profile_.paths[row.path].kind; is_sampled(kind))
      weights[row.path] = static_cast<double>(value_of(unit, row, kind, MetricId::Weight));
  double shares = 0;
  for (const auto& [path, weight] : weights) {
    const auto sums = pool.sampled.find(path);
    if (sums == pool.sampled.end()) continue;  // a damaged cluster without members
    const double share = std::max(0.0, clustering::sampled_share(pool.whole, sums->second, weight, own.path_weight));
    if (share > 0) model.sampled.push_back({path, share});
    shares += share;
  }
  for (auto& sampled : model.sampled) sampled.share /= shares;

  return model;
}

archive::Unit IterationProfiles::totals_of(std::int32_t cluster, std::span<const std::int64_t> row) const {
  const auto get = [&](Total total) {
    const int column = columns_[total];
    return column < 0 ? 0 : row[static_cast<std::size_t>(column)];
  };
  archive::Unit unit;
  const archive::Unit* sums = cluster_unit(cluster);
  const bool alone = sums != nullptr && members(cluster) == 1;
  if (alone) {  // not even rounded
    unit = *sums;
    unit.values.clear();
    unit.columns.clear();
    unit.extra = {};
  } else {
    unit.loop = static_cast<std::int32_t>(loop_index_);
    unit.cluster = cluster;
    unit.wall = get(wall);
    unit.mpi = get(mpi);
    unit.own = get(own);
    unit.cpu_ns = get(cpu);
    unit.mpi_calls = get(mpi_calls);
    unit.ticks_user = get(samples);
    unit.ticks_mpi = get(samples_mpi);
  }
  if (sums == nullptr || is_exact(cluster)) return unit;
  // One iteration holds few ticks: what they weigh is expected to follow the times.
  const SampleRates& rates = model(cluster).rates;
  const double user = static_cast<double>(unit.wall) - static_cast<double>(unit.mpi);
  const double user_weight = std::max(user, 0.0) * rates.user_rate();
  unit.weight_user_ns = to_count(user_weight);
  unit.weight_mpi_ns = to_count(static_cast<double>(unit.mpi) * rates.mpi_rate());
  const double part = rates.weight_user > 0 ? user_weight / rates.weight_user : 0;
  unit.weight_user_squared = rates.weight_squares * part * part;  // as many samples as all these are
  return unit;
}

archive::Unit IterationProfiles::unit_of(std::int32_t cluster, std::span<const std::int64_t> row,
                                         const std::vector<SampledPath>* recorded) const {
  const archive::Unit* sums = cluster_unit(cluster);
  if (is_exact(cluster)) return *sums;
  archive::Unit unit = totals_of(cluster, row);
  unit.extra = extra_.values_of(cluster, row);
  if (sums == nullptr) return unit;
  const Model& of = model(cluster);
  std::map<std::uint32_t, std::vector<std::int64_t>> rows;

  // Each column of the MPI call paths: estimated one by one, then made to add up to what is known.
  std::vector<double> estimates(of.regions.size());
  for (std::size_t c = 0; c < region_columns && !of.regions.empty(); ++c) {
    const int column = columns_[c];
    clustering::ReconstructionInput in;
    in.members = static_cast<std::uint64_t>(members(cluster));
    in.overall_sum = of.overall_sum[c];
    in.overall_value = column < 0 ? 0 : static_cast<double>(row[static_cast<std::size_t>(column)]);
    in.scales = column >= 0;
    in.has_slope = true;
    in.integral = false;
    if (const int second = of.second[c]; second >= 0) {
      in.second_overall_sum = of.overall_sum[static_cast<std::size_t>(second)];
      in.second_overall_value =
          static_cast<double>(row[static_cast<std::size_t>(columns_[static_cast<std::size_t>(second)])]);
    }
    double sum = 0;
    for (std::size_t i = 0; i < of.regions.size(); ++i) {
      in.sum = of.regions[i].sum[c];
      in.slope = of.regions[i].slope[c];
      in.second_slope = of.regions[i].second_slope[c];
      sum += estimates[i] = std::max(0.0, clustering::reconstruct(in));
    }
    if (sum <= 0)  // slopes that few iterations taught may lead below zero everywhere
      for (std::size_t i = 0; i < of.regions.size(); ++i)
        estimates[i] = std::max(0.0, static_cast<double>(of.regions[i].sum[c]));
    const std::int64_t whole = column < 0 ? to_count(sum) : row[static_cast<std::size_t>(column)];
    const bool complete = of.path_sum[c] == of.overall_sum[c] || of.overall_sum[c] == 0;
    const std::int64_t total = complete ? whole
                                        : to_count(static_cast<double>(whole) * static_cast<double>(of.path_sum[c]) /
                                                   static_cast<double>(of.overall_sum[c]));
    const auto values = round_to_total(total, estimates);
    for (std::size_t i = 0; i < of.regions.size(); ++i) {
      auto& out = rows[of.regions[i].path];
      out.resize(region_columns, 0);
      out[c] = values[i];
    }
  }

  std::vector<double> shares;
  for (const auto& sampled : of.sampled) shares.push_back(sampled.share);
  const std::int64_t tick_sum = to_count(static_cast<double>(unit.ticks_user) * of.rates.samples_part());
  const std::int64_t weight_sum = to_count(static_cast<double>(unit.weight_user_ns) * of.rates.path_part());
  const auto ticks = round_to_total(tick_sum, shares);
  const auto weights = round_to_total(weight_sum, shares);
  for (std::size_t i = 0; i < of.sampled.size(); ++i) {
    auto& out = rows[of.sampled[i].path];
    out.assign(measurement::columns_of(NodeKind::Function), 0);
    out[samples_column] = recorded ? 0 : ticks[i];
    out[weight_column] = weights[i];
  }
  if (recorded)
    for (const SampledPath& sampled : *recorded) {
      auto& out = rows[sampled.path];
      out.resize(measurement::columns_of(NodeKind::Function), 0);
      out[samples_column] = sampled.samples;
    }

  for (const auto& value : sums->values) {
    if (profile_.paths[value.path].kind != NodeKind::Marked) continue;
    auto& out = rows[value.path];
    for (std::size_t c = 0; c < measurement::columns_of(NodeKind::Marked); ++c) {
      clustering::ReconstructionInput in;
      in.sum = sums->columns[value.first + c];
      in.members = static_cast<std::uint64_t>(members(cluster));
      in.overall_sum = sums->wall;
      in.overall_value = static_cast<double>(unit.wall);
      in.scales = c == measurement::column_of(MetricId::MarkTime);
      out.push_back(to_count(clustering::reconstruct(in)));
    }
  }
  for (const auto& [path, values] : rows) {
    if (std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v == 0; })) continue;
    unit.values.push_back({path, static_cast<std::uint32_t>(unit.columns.size())});
    unit.columns.insert(unit.columns.end(), values.begin(), values.end());
  }
  return unit;
}

/// Sums over the selected call paths. A column follows its overall metric linearly, so the sums do.
struct IterationProfiles::Selected::OfCluster {
  std::array<std::int64_t, region_columns> sum{};
  std::array<double, region_columns> slope{}, second_slope{};
  double share = 0, part = 1, samples_part = 1;  ///< of the time in user code by paths; of that time in all; of samples
  bool exact = false;
  PathTotals totals;  ///< of a cluster of one member
};

IterationProfiles::Selected::Selected(const IterationProfiles& profiles, const PathSelection& selection)
    : profiles_(profiles), selection_(selection), clusters_(profiles.units_.size()) {}

IterationProfiles::PathTotals IterationProfiles::Selected::in(std::int32_t cluster,
                                                              std::span<const std::int64_t> row) const {
  PathTotals totals;
  const auto chosen = [&](std::uint32_t path) { return path < selection_.paths.size() && selection_.paths[path]; };
  const auto other_ticks = [&](const UnitTimes& times) {
    return static_cast<double>((selection_.not_on_cpu ? times.not_on_cpu : 0) +
                               (selection_.no_sample ? times.no_sample : 0) + (selection_.refrain ? times.refrain : 0));
  };
  const archive::Unit* sums = profiles_.cluster_unit(cluster);
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
        for (std::size_t c = 0; c < region_columns; ++c) all.mpi[c] += get(static_cast<MetricId>(c));
        all.samples += get(MetricId::Samples);
      }
      all.mpi[mpi] = selection_.mpi_without_path ? static_cast<double>(times.mpi_no_path) : 0;
      for (const auto& [path, ticks] : times.mpi_paths) all.mpi[mpi] += chosen(path) ? static_cast<double>(ticks) : 0;
      for (const auto& [path, ticks] : times.user_paths)
        all.user_ticks += chosen(path) ? static_cast<double>(ticks) : 0;
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
      if (selection_.mpi_without_path && model.overall_sum[mpi] > model.path_sum[mpi]) {
        const std::int64_t lost = model.overall_sum[mpi] - model.path_sum[mpi];
        made->sum[mpi] += lost;
        made->slope[mpi] += static_cast<double>(lost) / static_cast<double>(model.overall_sum[mpi]);
      }
      for (const auto& sampled : model.sampled) made->share += chosen(sampled.path) ? sampled.share : 0;
      made->part = model.rates.path_part();
      made->samples_part = model.rates.samples_part();
    }
    place = std::move(made);
  }
  const OfCluster& of = *place;
  if (of.exact) return of.totals;

  const archive::Unit unit = profiles_.totals_of(cluster, row);
  const UnitTimes times = apply_time_rules(unit, profiles_.profile_.paths, profiles_.constants_);
  const Model& model = profiles_.model(cluster);
  const auto column = [&](std::size_t total) {
    clustering::ReconstructionInput in;
    in.sum = of.sum[total];
    in.members = static_cast<std::uint64_t>(profiles_.members(cluster));
    in.overall_sum = model.overall_sum[total];
    const int at = profiles_.columns_[total];
    in.scales = at >= 0;
    in.overall_value = at < 0 ? 0 : static_cast<double>(row[static_cast<std::size_t>(at)]);
    in.has_slope = true;
    in.slope = static_cast<float>(of.slope[total]);
    if (const int second = model.second[total]; second >= 0) {
      in.second_slope = static_cast<float>(of.second_slope[total]);
      in.second_overall_sum = model.overall_sum[static_cast<std::size_t>(second)];
      in.second_overall_value =
          static_cast<double>(row[static_cast<std::size_t>(profiles_.columns_[static_cast<std::size_t>(second)])]);
    }
    return std::max(0.0, clustering::reconstruct(in));
  };
  for (std::size_t c = 0; c < region_columns; ++c) totals.mpi[c] = column(c);
  totals.mpi[mpi] = std::min(totals.mpi[mpi], static_cast<double>(times.mpi));
  const auto on_cpu = static_cast<double>(times.user - times.not_on_cpu - times.no_sample);
  totals.user_ticks = on_cpu * of.share * of.part;
  totals.samples = static_cast<double>(unit.ticks_user) * of.share * of.samples_part;
  totals.other_ticks = other_ticks(times);
  return totals;
}

}  // namespace refrain::analysis

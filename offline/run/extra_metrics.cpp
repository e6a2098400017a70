#include "offline/run/extra_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "offline/run/iteration_profile.hpp"
#include "offline/run/iterations.hpp"
#include "offline/run/time_rules.hpp"

namespace refrain::run {
namespace {

std::int64_t sum_of(const std::vector<PathValue>& values) {
  __int128 sum = 0;
  for (const PathValue& v : values) sum += v.value;
  return static_cast<std::int64_t>(std::min<__int128>(sum, std::numeric_limits<std::int64_t>::max()));
}

/// Scales the values so that they add up to `total`.
void share_out(std::int64_t total, std::vector<PathValue>& values) {
  std::vector<std::int64_t> weights;
  for (const PathValue& v : values) weights.push_back(v.value);
  const auto shares = share_by_largest_remainder(total, weights);
  for (std::size_t i = 0; i < values.size(); ++i) values[i].value = shares[i];
}

}  // namespace

/// The means and slopes of one cluster, by metric.
struct ExtraOfIterations::Model {
  struct Mpi {
    std::uint32_t path;
    double mean, slope;
  };
  struct OfMetric {
    double mean = 0;  ///< of the total
    std::vector<Mpi> mpi;
    std::vector<PathValue> user;
    double user_sum = 0;

    /// Estimates the values inside MPI functions for a total of the iteration, in the order of `mpi`. Their sum does
    /// not exceed the total.
    void estimate_mpi(std::int64_t total_of_iteration, std::vector<PathValue>& values) const {
      values.clear();
      for (const Mpi& path : mpi) {
        const double moved = path.mean + path.slope * (static_cast<double>(total_of_iteration) - mean);
        values.push_back({path.path, std::llround(std::clamp(moved, 0.0, 9e18))});
      }
      if (sum_of(values) > total_of_iteration) share_out(total_of_iteration, values);
    }
  };
  std::vector<OfMetric> metrics;
};

/// How the call paths of a class scale with the total of one metric, learned from the clusters of the class.
struct ExtraOfIterations::Regression {
  double mean = 0;                          ///< of the total, over all members
  double between = 0, within = 0;           ///< squared distances: clusters from the mean, members from clusters
  std::map<std::uint32_t, double> scatter;  ///< by call path

  /// Slopes are trusted as far as clusters differ more among each other than their members do.
  double trust() const { return between > 0 ? between / (between + within) : 0; }
};

ExtraOfIterations::ExtraOfIterations(std::span<const experiment::CallPath> paths,
                                     std::span<const experiment::ExtraMetric> metrics, const experiment::Loop& loop,
                                     const std::vector<const experiment::Unit*>& units)
    : paths_(paths), loop_(loop), units_(units) {
  for (const experiment::ExtraMetric& metric : metrics) columns_.push_back(overall_index(loop, metric.name));
}

ExtraOfIterations::~ExtraOfIterations() = default;

bool ExtraOfIterations::has(std::int32_t cluster) const {
  return cluster >= 0 && static_cast<std::size_t>(cluster) < units_.size() &&
         units_[static_cast<std::size_t>(cluster)] != nullptr;
}

double ExtraOfIterations::members(std::int32_t cluster) const {
  return static_cast<double>(std::max<std::int64_t>(1, loop_.clusters[static_cast<std::size_t>(cluster)].members));
}

double ExtraOfIterations::total_of(std::span<const std::int64_t> row, std::size_t metric) const {
  const int column = columns_[metric];
  return column < 0 ? 0 : static_cast<double>(row[static_cast<std::size_t>(column)]);
}

const std::vector<ExtraOfIterations::Regression>& ExtraOfIterations::regressions(std::uint32_t class_index) const {
  const auto [at, is_new] = regressions_.try_emplace(class_index);
  if (!is_new) return at->second;
  std::vector<std::int32_t> clusters;
  for (std::size_t k = 0; k < units_.size(); ++k)
    if (units_[k] != nullptr && loop_.clusters[k].class_index == class_index && loop_.clusters[k].members > 0)
      clusters.push_back(static_cast<std::int32_t>(k));
  for (std::size_t m = 0; m < columns_.size(); ++m) {
    Regression& of = at->second.emplace_back();
    double all = 0, all_members = 0;
    for (const std::int32_t k : clusters) {
      all += static_cast<double>(units_[static_cast<std::size_t>(k)]->extra.total(m));
      all_members += members(k);
    }
    of.mean = all_members > 0 ? all / all_members : 0;
    for (const std::int32_t k : clusters) {
      const experiment::ExtraValues& extra = units_[static_cast<std::size_t>(k)]->extra;
      const double apart = static_cast<double>(extra.total(m)) / members(k) - of.mean;
      of.between += members(k) * apart * apart;
      const auto& squares = loop_.clusters[static_cast<std::size_t>(k)].squares;
      if (columns_[m] >= 0 && static_cast<std::size_t>(columns_[m]) < squares.size())
        of.within += squares[static_cast<std::size_t>(columns_[m])];
      for (const experiment::PathValues& row : extra.values)
        of.scatter[row.path] += apart * static_cast<double>(extra.of(row, m));
    }
  }
  return at->second;
}

const ExtraOfIterations::Model& ExtraOfIterations::model(std::int32_t index) const {
  models_.resize(units_.size());
  auto& place = models_[static_cast<std::size_t>(index)];
  if (place) return *place;
  place = std::make_unique<Model>();
  const experiment::Unit& unit = *units_[static_cast<std::size_t>(index)];
  const auto& regressions = this->regressions(loop_.clusters[static_cast<std::size_t>(index)].class_index);
  for (std::size_t m = 0; m < columns_.size(); ++m) {
    Model::OfMetric of;
    const ExtraShares sums = share_extra(unit, paths_, m);
    const double n = members(index);
    of.mean = static_cast<double>(sums.total) / n;
    of.user = sums.user_paths;
    of.user_sum = static_cast<double>(sum_of(of.user));
    // The slope of the class as far as it is trusted; the rest is proportional to the total (as in
    // iteration_profile.cpp).
    const Regression& learned = regressions[m];
    for (const PathValue& path : sums.mpi_paths) {
      const double part = sums.total > 0 ? static_cast<double>(path.value) / static_cast<double>(sums.total) : 0;
      const auto scatter = learned.scatter.find(path.path);
      const double slope =
          learned.between > 0 && scatter != learned.scatter.end() ? scatter->second / learned.between : 0;
      of.mpi.push_back({path.path, static_cast<double>(path.value) / n, part + learned.trust() * (slope - part)});
    }
    place->metrics.push_back(std::move(of));
  }
  return *place;
}

experiment::ExtraValues ExtraOfIterations::values_of(std::int32_t cluster, std::span<const std::int64_t> row) const {
  experiment::ExtraValues out;
  const std::size_t width = columns_.size();
  if (width == 0) return out;
  if (has(cluster) && members(cluster) == 1) return units_[static_cast<std::size_t>(cluster)]->extra;
  out.totals.resize(width);
  std::map<std::uint32_t, std::vector<std::int64_t>> rows;
  for (std::size_t m = 0; m < width; ++m) {
    out.totals[m] = static_cast<std::int64_t>(total_of(row, m));
    if (!has(cluster)) continue;
    const Model::OfMetric& of = model(cluster).metrics[m];
    std::vector<PathValue> mpi, user = of.user;
    of.estimate_mpi(out.totals[m], mpi);
    share_out(out.totals[m] - sum_of(mpi), user);
    for (const auto* values : {&mpi, &user})
      for (const PathValue& v : *values) {
        if (v.value == 0) continue;
        auto& place = rows[v.path];
        place.resize(width);
        place[m] = v.value;
      }
  }
  for (const auto& [path, values] : rows) {
    out.values.push_back({path, static_cast<std::uint32_t>(out.columns.size())});
    out.columns.insert(out.columns.end(), values.begin(), values.end());
  }
  return out;
}

/// The selected call paths of one cluster for one metric.
struct ExtraOfIterations::Selected {
  const Model::OfMetric* model = nullptr;
  std::vector<std::size_t> mpi;  ///< indices in Model::OfMetric::mpi
  double user_share = 0;         ///< of the value in user code

  Selected() = default;
  Selected(const Model::OfMetric& of, const PathSelection& selection) : model(&of) {
    const auto chosen = [&](std::uint32_t path) { return path < selection.paths.size() && selection.paths[path]; };
    for (std::size_t i = 0; i < of.mpi.size(); ++i)
      if (chosen(of.mpi[i].path)) mpi.push_back(i);
    for (const PathValue& path : of.user)
      if (chosen(path.path) && of.user_sum > 0) user_share += static_cast<double>(path.value) / of.user_sum;
    if (of.user_sum == 0 && selection.no_sample) user_share = 1;
  }
  double in(std::int64_t total, std::vector<PathValue>& room) const {
    if (mpi.empty() && user_share == 0) return 0;
    model->estimate_mpi(total, room);
    double sum = user_share * static_cast<double>(total - sum_of(room));
    for (const std::size_t i : mpi) sum += static_cast<double>(room[i].value);
    return sum;
  }
};

std::function<double(std::int32_t, std::span<const std::int64_t>)> ExtraOfIterations::selected(
    const PathSelection& selection, std::size_t metric) const {
  return [this, &selection, metric, clusters = std::vector<Selected>(units_.size()), room = std::vector<PathValue>()](
             std::int32_t cluster, std::span<const std::int64_t> row) mutable {
    if (!has(cluster)) return 0.0;
    Selected& of = clusters[static_cast<std::size_t>(cluster)];
    if (of.model == nullptr) of = Selected(model(cluster).metrics[metric], selection);
    return of.in(static_cast<std::int64_t>(total_of(row, metric)), room);
  };
}

}  // namespace refrain::run

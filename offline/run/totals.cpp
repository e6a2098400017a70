#include "offline/run/totals.hpp"

#include <algorithm>

#include "offline/run/extra_shares.hpp"

namespace refrain::run {
namespace {

using experiment::RunTotals;

/// Adds up units of one location.
class Adder {
 public:
  Adder(const experiment::Rank& rank, const experiment::Location& location, std::span<const experiment::CallPath> paths)
      : paths_(paths), constants_(constants_of(rank, location)), metrics_(rank.extra_metrics.size()) {
    sum_.extra.totals.resize(metrics_);
    sum_.extra_no_path.resize(metrics_);
  }

  void add(const experiment::Unit& unit) {
    const UnitTimes times = apply_time_rules(unit, paths_, constants_);
    for (const auto& column : format::total_columns) add(sum_.totals.*column.total, unit.*column.total);
    sum_.totals.weight_user_squared += unit.weight_user_squared;
    for (const auto& column : format::time_columns) add(sum_.times.*column.time, times.*column.time);
    for (const auto* of_paths : {&times.mpi_paths, &times.user_paths})
      for (const auto& [path, ticks] : *of_paths) add(sum_.paths[row_of(path)].ticks, ticks);
    for (const auto& row : unit.values) {
      const std::size_t first = sum_.paths[row_of(row.path)].first;
      const std::size_t columns = format::columns_of(paths_[row.path].kind);
      for (std::size_t c = 0; c < columns && row.first + c < unit.columns.size(); ++c)
        add(sum_.columns[first + c], unit.columns[row.first + c]);
    }
    for (std::size_t m = 0; m < metrics_; ++m) {
      const ExtraShares shares = share_extra(unit, paths_, m);
      for (const auto* of_paths : {&shares.mpi_paths, &shares.user_paths})
        for (const auto& [path, value] : *of_paths) {
          const std::size_t row = row_of(path);
          add(extra_[row * metrics_ + m], value);
        }
      add(sum_.extra_no_path[m], shares.no_path);
      add(sum_.extra.totals[m], shares.total);
    }
  }

  RunTotals take() {
    for (std::size_t row = 0; row < sum_.paths.size(); ++row) {
      const auto first = extra_.begin() + static_cast<std::ptrdiff_t>(row * metrics_);
      const auto end = first + static_cast<std::ptrdiff_t>(metrics_);
      if (std::all_of(first, end, [](std::int64_t value) { return value == 0; })) continue;
      sum_.extra.values.push_back({sum_.paths[row].path, static_cast<std::uint32_t>(sum_.extra.columns.size())});
      sum_.extra.columns.insert(sum_.extra.columns.end(), first, end);
    }
    std::ranges::sort(sum_.paths, {}, &experiment::PathTotals::path);
    std::ranges::sort(sum_.extra.values, {}, &experiment::PathValues::path);
    return std::move(sum_);
  }

 private:
  static void add(std::int64_t& sum, std::int64_t value) { sum = add_saturating(sum, value); }

  std::size_t row_of(std::uint32_t path) {
    constexpr std::uint32_t none = 0;
    if (place_.size() <= path) place_.resize(std::max<std::size_t>(path + 1U, paths_.size()), none);
    if (place_[path] == none) {
      sum_.paths.push_back({path, static_cast<std::uint32_t>(sum_.columns.size()), 0});
      sum_.columns.resize(sum_.columns.size() + format::columns_of(paths_[path].kind));
      extra_.resize(extra_.size() + metrics_);
      place_[path] = static_cast<std::uint32_t>(sum_.paths.size());
    }
    return place_[path] - 1;
  }

  std::span<const experiment::CallPath> paths_;
  const RankConstants constants_;
  const std::size_t metrics_;
  RunTotals sum_;
  std::vector<std::int64_t> extra_;   ///< by row of sum_.paths
  std::vector<std::uint32_t> place_;  ///< by path: 1 + its row
};

}  // namespace

RunTotals totals_of(std::span<const experiment::Unit> units, const experiment::Rank& rank,
                    const experiment::Location& location, std::span<const experiment::CallPath> paths) {
  Adder adder(rank, location, paths);
  for (const experiment::Unit& unit : units) adder.add(unit);
  return adder.take();
}

std::vector<MpiCalls> mpi_calls_of(const experiment::Unit& unit, const experiment::RankDefinition& rank,
                                   std::span<const experiment::CallPath> paths) {
  std::vector<MpiCalls> all;
  for (const experiment::PathValues& row : unit.values) {
    const format::NodeKind kind = paths[row.path].kind;
    if (kind != format::NodeKind::Region) continue;
    const auto value = [&](format::MetricId metric) { return static_cast<double>(value_of(unit, row, kind, metric)); };
    all.push_back({row.path, value(format::MetricId::Visits), seconds_of(rank, value(format::MetricId::Time))});
  }
  return all;
}

format::UnitTotals sums_of_run(const experiment::Location& location) {
  if (location.run) return location.run->totals;
  format::UnitTotals sums;
  for (const experiment::Unit& unit : location.units) sums += unit;
  return sums;
}

}  // namespace refrain::run

#include "offline/run/time_rules.hpp"

#include <algorithm>

namespace refrain::run {

using format::MetricId;

RankConstants constants_of(const experiment::Rank& rank, const experiment::Location& location) {
  const auto cost = [&](format::OwnTime of, const experiment::Cost& calibrated) {
    return format::cost_of(location.own_times[static_cast<std::size_t>(of)], calibrated.median);
  };
  return {cost(format::OwnTime::Call, rank.call_cost), cost(format::OwnTime::Tick, rank.tick_cost),
          rank.ticks_per_second > 0 ? rank.ticks_per_second : 1e9, rank.off_cpu_is_counted,
          rank.off_cpu_is_counted && !location.has(format::Loss::RunDelayUnknown)};
}

namespace {
std::span<const std::int64_t> columns_behind(const experiment::Unit& unit, const experiment::PathValues& row) {
  return std::span(unit.columns).subspan(std::min<std::size_t>(row.first, unit.columns.size()));
}
}  // namespace

std::int64_t value_of(const experiment::Unit& unit, const experiment::PathValues& row, experiment::NodeKind kind,
                      MetricId metric) {
  return format::value_of(kind, columns_behind(unit, row), metric);
}

std::vector<std::int64_t> share_by_largest_remainder(std::int64_t total, std::span<const std::int64_t> weights) {
  std::vector<std::int64_t> shares(weights.begin(), weights.end());
  std::vector<format::Remainder> room(shares.size() + 1);
  format::share_out(total, shares, 0, room);
  return shares;
}

UnitTimes apply_time_rules(const experiment::Unit& unit, std::span<const experiment::CallPath> paths,
                           const RankConstants& constants) {
  if (format::is_stopped(unit.loop, unit.cluster)) return {format::stopped_times(unit), {}, {}};
  UnitTimes times;
  std::vector<std::int64_t> mpi, user;
  for (const experiment::PathValues& row : unit.values) {
    const format::PathClaim claim = format::claim_of(paths[row.path].kind, columns_behind(unit, row));
    if (claim.of == format::PathClaim::Nothing) continue;
    const bool in_mpi = claim.of == format::PathClaim::Mpi;
    (in_mpi ? times.mpi_paths : times.user_paths).push_back({row.path, 0});
    (in_mpi ? mpi : user).push_back(claim.value);
  }
  std::vector<format::Remainder> room(std::max(mpi.size(), user.size()) + 1);
  static_cast<format::UnitTimes&>(times) = format::divide_unit(unit, constants, mpi, user, room);
  for (std::size_t i = 0; i < mpi.size(); ++i) times.mpi_paths[i].ticks = mpi[i];
  for (std::size_t i = 0; i < user.size(); ++i) times.user_paths[i].ticks = user[i];
  return times;
}

}  // namespace refrain::run

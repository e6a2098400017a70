#include "offline/run/extra_shares.hpp"

#include <algorithm>

#include "offline/run/time_rules.hpp"

namespace refrain::run {

ExtraShares share_extra(const experiment::Unit& unit, std::span<const experiment::CallPath> paths, std::size_t metric) {
  ExtraShares shares;
  shares.total = std::max<std::int64_t>(0, unit.extra.total(metric));
  std::vector<std::int64_t> mpi, user;
  const auto claim = [](std::uint32_t path, std::int64_t value, auto& of_paths, auto& values) {
    if (value <= 0) return;
    of_paths.push_back({path, 0});
    values.push_back(value);
  };
  for (const experiment::PathValues& row : unit.extra.values) {
    const std::int64_t value = unit.extra.of(row, metric);
    if (format::is_sampled(paths[row.path].kind)) claim(row.path, value, shares.user_paths, user);
    else claim(row.path, value, shares.mpi_paths, mpi);
  }
  if (user.empty())
    for (const experiment::PathValues& row : unit.values)
      claim(row.path, value_of(unit, row, paths[row.path].kind, format::MetricId::Weight), shares.user_paths, user);
  std::vector<format::Remainder> room(std::max(mpi.size(), user.size()) + 1);
  shares.no_path = format::divide_extra(shares.total, mpi, user, room);
  for (std::size_t i = 0; i < mpi.size(); ++i) shares.mpi_paths[i].value = mpi[i];
  for (std::size_t i = 0; i < user.size(); ++i) shares.user_paths[i].value = user[i];
  return shares;
}

}  // namespace refrain::run

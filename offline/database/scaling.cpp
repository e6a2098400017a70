#include "offline/database/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <vector>

#include "statistics/statistics.hpp"

namespace refrain::database {

Scaling scaling_of(Connection& connection, const StoredRun& run, const std::vector<std::string>& wanted,
                   double least_share) {
  Scaling scaling{run.program, run.version, 0, {}};
  struct OfSize {
    std::vector<double> seconds;  // sums over all processes, by run
    double largest_share = 0;

    double mean_s() const { return statistics::mean(seconds); }
    double deviation_s() const { return std::sqrt(statistics::variance(seconds)); }
    /// Standard error of the mean, relative to the mean.
    double relative_error() const {
      return mean_s() > 0 ? deviation_s() / std::sqrt(static_cast<double>(seconds.size())) / mean_s() : 0;
    }
  };
  std::map<std::string, std::map<std::int64_t, OfSize>> sums;
  connection.query(
      fmt::format("SELECT r.\"Name\", t.\"NoPe\", SUM(s.\"Incl\"), MAX(s.\"Incl\" / NULLIF(t.\"Wall\", 0)) "
                  "FROM \"TotalTiming\" s JOIN \"Region\" r ON r.\"id\" = s.\"Region_TotTimes\" "
                  "JOIN \"TestRun\" t ON t.\"id\" = s.\"Run\" WHERE t.\"ProgVersion_Runs\" = {} GROUP BY "
                  "r.\"Name\", t.\"NoPe\", t.\"id\" ORDER BY t.\"id\"",
                  run.version_id),
      [&](std::span<const Value> row) {
        OfSize& of = sums[shown_text_of(row[0])][integer_of(row[1])];
        of.seconds.push_back(real_of(row[2]));
        of.largest_share = std::max(of.largest_share, real_of(row[3]));
      });
  for (const std::string& name : wanted)
    if (!sums.contains(name))
      throw DatabaseError(fmt::format("{}: no run of {} has a region {}", connection.name(), run.program, name));
  std::map<std::string, double> order;
  for (const auto& [name, by_processes] : sums) {
    double share = 0, most = 0;
    for (const auto& [processes, sum] : by_processes) {
      share = std::max(share, sum.largest_share);
      most = std::max(most, sum.mean_s());
    }
    if (wanted.empty() ? share < least_share : std::ranges::find(wanted, name) == wanted.end()) continue;
    ScalingRegion region{name, {}};
    const auto& [fewest, first] = *by_processes.begin();
    for (const auto& [processes, sum] : by_processes) {
      const auto count = static_cast<double>(processes);
      ScalingRow row{processes, static_cast<std::int64_t>(sum.seconds.size()), sum.mean_s() / count,
                     sum.deviation_s() / count};
      row.efficiency = sum.mean_s() > 0 ? first.mean_s() / sum.mean_s() : 0;
      if (processes != fewest && std::min(sum.seconds.size(), first.seconds.size()) > 1)
        row.efficiency_error = row.efficiency * std::hypot(sum.relative_error(), first.relative_error());
      row.speedup = row.efficiency * count;
      row.lost_s = sum.mean_s() - first.mean_s();
      region.rows.push_back(row);
    }
    scaling.fewest = scaling.fewest == 0 ? fewest : std::min(scaling.fewest, fewest);
    order[name] = most;
    scaling.regions.push_back(std::move(region));
  }
  std::ranges::stable_sort(scaling.regions, std::ranges::greater(),
                           [&](const ScalingRegion& of) { return order[of.name]; });
  return scaling;
}

std::vector<analysis::SizedRun> sized_runs(Connection& connection, const StoredRun& run) {
  struct OfRun {
    std::int64_t processes = 0;
    std::vector<analysis::RankTimes> ranks;
  };
  std::map<std::int64_t, OfRun> by_run;
  connection.query(
      fmt::format("SELECT t.\"id\", t.\"NoPe\", l.\"Rank\", l.\"User\", l.\"Mpi\" FROM \"Location\" l "
                  "JOIN \"TestRun\" t ON t.\"id\" = l.\"TestRun_Locations\" WHERE t.\"ProgVersion_Runs\" = {} "
                  "AND l.\"Thread\" = 0 ORDER BY t.\"id\", l.\"Rank\"",
                  run.version_id),
      [&](std::span<const Value> row) {
        OfRun& of = by_run[integer_of(row[0])];
        of.processes = integer_of(row[1]);
        analysis::RankTimes& rank = of.ranks.emplace_back();
        rank.rank = static_cast<std::int32_t>(integer_of(row[2]));
        rank.useful.value = real_of(row[3]);
        rank.mpi_s = real_of(row[4]);
      });
  std::vector<analysis::SizedRun> runs;
  for (const auto& [id, of] : by_run) {
    const auto efficiency = analysis::efficiency_of(of.ranks);
    if (!efficiency) continue;
    double useful_s = 0;
    for (const analysis::RankTimes& rank : of.ranks) useful_s += rank.useful.value;
    // Missing ranks count like the others.
    runs.push_back({of.processes, *efficiency,
                    useful_s * static_cast<double>(of.processes) / static_cast<double>(of.ranks.size())});
  }
  return runs;
}

}  // namespace refrain::database

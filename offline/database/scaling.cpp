#include "offline/database/scaling.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace refrain::database {

Scaling scaling_of(Connection& connection, const StoredRun& run, const std::vector<std::string>& wanted,
                   double least_share) {
  Scaling scaling{run.program, run.version, 0, {}};
  struct Sum {
    std::int64_t runs = 0;
    double seconds = 0, largest_share = 0;
  };
  std::map<std::string, std::map<std::int64_t, Sum>> sums;
  connection.query(
      fmt::format("SELECT r.\"Name\", t.\"NoPe\", COUNT(*), AVG(s.\"Incl\"), MAX(s.\"Incl\" / NULLIF(t.\"Wall\", 0)) "
                  "FROM \"TotalTiming\" s JOIN \"Region\" r ON r.\"id\" = s.\"Region_TotTimes\" "
                  "JOIN \"TestRun\" t ON t.\"id\" = s.\"Run\" WHERE t.\"ProgVersion_Runs\" = {} GROUP BY r.\"id\", "
                  "r.\"Name\", t.\"NoPe\"",
                  run.version_id),
      [&](std::span<const Value> row) {
        Sum& sum = sums[shown_text_of(row[0])][integer_of(row[1])];
        sum.runs = std::max(sum.runs, integer_of(row[2]));
        sum.seconds += real_of(row[3]);
        sum.largest_share = std::max(sum.largest_share, real_of(row[4]));
      });
  for (const std::string& name : wanted)
    if (!sums.contains(name))
      throw DatabaseError(fmt::format("{}: no run of {} has a region {}", connection.name(), run.program, name));
  std::map<std::string, double> order;
  for (const auto& [name, by_processes] : sums) {
    double share = 0, most = 0;
    for (const auto& [processes, sum] : by_processes) {
      share = std::max(share, sum.largest_share);
      most = std::max(most, sum.seconds);
    }
    if (wanted.empty() ? share < least_share : std::ranges::find(wanted, name) == wanted.end()) continue;
    ScalingRegion region{name, {}};
    const auto& [fewest, first] = *by_processes.begin();
    for (const auto& [processes, sum] : by_processes) {
      ScalingRow row{processes, sum.runs, sum.seconds / static_cast<double>(processes)};
      row.efficiency = sum.seconds > 0 ? first.seconds / sum.seconds : 0;
      row.speedup = row.efficiency * static_cast<double>(processes);
      row.lost_s = sum.seconds - first.seconds;
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
    runs.push_back({of.processes, *efficiency, useful_s});
  }
  return runs;
}

}  // namespace refrain::database

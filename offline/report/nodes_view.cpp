// Time by machine: the sums over the ranks on each.
#include <algorithm>
#include <map>

#include "offline/report/columns.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {

std::vector<Table> nodes_tables(const Document& d) {
  const bool is_told = std::ranges::any_of(d.tree.locations, &analysis::LocationSummary::off_cpu_is_told_apart);
  const unsigned parts = is_told ? Everywhere : ForPrograms;
  std::vector<Column> all = columns("wall_s: wall, mpi_share: MPI %, user_share: user %, not_on_cpu_share: off CPU %") +
                            columns("waited_for_core_share: waited %, blocked_share: blocked %", parts) +
                            columns("ranks, threads, cores") + columns("cpu_quota", ForPrograms) +
                            columns("which, node");
  Table table{
      "nodes", std::move(all), [&d](const TakeRow& take) {
        enum Column : std::size_t { wall, mpi, user, not_on_cpu, waited, blocked };
        const run::Nodes nodes = columns_of(d.tree);
        const run::Metrics metrics;
        run::Grouping grouping(
            nodes, metrics,
            {.place = run::Place::Machine,
             .metrics = {run::wall, run::mpi, run::user, run::not_on_cpu, run::waited_for_core, run::blocked}});
        std::map<std::string, std::vector<std::int32_t>> ranks_of;
        run::for_each_leaf(
            *d.experiment, d.where(), [&](const run::Leaf& leaf) { grouping.add(leaf); },
            [&](const experiment::Rank& rank) { ranks_of[rank.host].push_back(rank.rank); });
        std::vector<run::Answer> machines = grouping.finish();
        std::ranges::sort(machines, {}, &run::Answer::machine);
        std::map<std::string, analysis::NodeCores> cores_of;
        for (const analysis::NodeCores& of : d.overview.nodes) cores_of[of.host] = of;
        for (const run::Answer& of : machines) {
          const double wall_s = of.seconds(wall);
          if (!(wall_s > 0)) continue;
          const analysis::NodeCores& there = cores_of[of.machine];
          const std::vector<std::int32_t>& ranks = ranks_of[of.machine];
          const auto share = [&](Column column) {
            return of.of(column).is_known ? Cell(of.seconds(column) / wall_s) : Cell();
          };
          take({{wall_s, share(mpi), share(user), share(not_on_cpu), share(waited), share(blocked),
                 static_cast<std::int64_t>(ranks.size()), there.threads, there.cores ? Cell(*there.cores) : Cell(),
                 there.quota > 0 ? Cell(there.quota) : Cell(), rank_list(ranks), of.machine}});
        }
      }};
  table.empty = "No time was measured.";
  table.footnotes = {{"Shares of the time on the node.", Note::Faint}};
  return {std::move(table)};
}

}  // namespace refrain::report

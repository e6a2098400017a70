// Time by machine: the sums over the ranks on each.
#include <map>

#include "offline/report/columns.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

struct OfNode {
  std::vector<std::int32_t> ranks;
  double wall_s = 0, mpi_s = 0, user_s = 0, not_on_cpu_s = 0, waited_s = 0, blocked_s = 0;
  bool is_told_apart = true;
};

}  // namespace

std::vector<Table> nodes_tables(const Document& d) {
  const bool is_told = std::ranges::any_of(d.tree.locations, &analysis::LocationSummary::off_cpu_is_told_apart);
  const unsigned parts = is_told ? Everywhere : ForPrograms;
  std::vector<Column> all = columns("wall_s: wall, mpi_share: MPI %, user_share: user %, not_on_cpu_share: off CPU %") +
                            columns("waited_for_core_share: waited %, blocked_share: blocked %", parts) +
                            columns("ranks, threads, cores") + columns("cpu_quota", ForPrograms) +
                            columns("which, node");
  Table table{
      "nodes", std::move(all), [&d](const TakeRow& take) {
        std::map<std::string, OfNode> nodes;
        std::map<std::int32_t, std::string> node_of;
        d.for_each_rank(experiment::Depth::Run, [&](const experiment::Rank& rank) {
          nodes[rank.host].ranks.push_back(rank.rank);
          node_of[rank.rank] = rank.host;
        });
        for (const analysis::LocationSummary& of : d.tree.locations) {
          OfNode& to = nodes[node_of[of.rank]];
          to.wall_s += of.wall_s;
          to.mpi_s += of.mpi_s;
          to.user_s += of.user_s;
          to.not_on_cpu_s += of.not_on_cpu_s;
          to.waited_s += of.waited_for_core_s;
          to.blocked_s += of.blocked_s;
          to.is_told_apart &= of.off_cpu_is_told_apart;
        }
        std::map<std::string, analysis::NodeCores> cores_of;
        for (const analysis::NodeCores& of : d.overview.nodes) cores_of[of.host] = of;
        for (const auto& [name, of] : nodes) {
          if (!(of.wall_s > 0)) continue;
          const analysis::NodeCores& there = cores_of[name];
          take({{of.wall_s, of.mpi_s / of.wall_s, of.user_s / of.wall_s, of.not_on_cpu_s / of.wall_s,
                 of.is_told_apart ? Cell(of.waited_s / of.wall_s) : Cell(),
                 of.is_told_apart ? Cell(of.blocked_s / of.wall_s) : Cell(), static_cast<std::int64_t>(of.ranks.size()),
                 there.threads, there.cores ? Cell(*there.cores) : Cell(), there.quota > 0 ? Cell(there.quota) : Cell(),
                 rank_list(of.ranks), name}});
        }
      }};
  table.empty = "No time was measured.";
  table.footnotes = {{"Shares of the time on the node.", Note::Faint}};
  return {std::move(table)};
}

}  // namespace refrain::report

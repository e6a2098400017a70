// The communicators of a program: their ranks, their number, and the time of calls on them.
#include <algorithm>
#include <map>

#include "offline/experiment/rank_pass.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"
#include "offline/trace/communicators.hpp"

namespace refrain::report {
namespace {

/// Communicators that have one name and one member each share a row: every rank has its own MPI_COMM_SELF.
struct CommunicatorRow {
  std::string name;
  std::int32_t size = 0, remote_size = 0;
  std::int64_t made = 0;
  std::vector<std::int32_t> members;  ///< those that the experiment has
  double seconds = -1;                ///< below 0: not known
  std::int64_t calls = 0;
};

std::string name_of(const trace::CommunicatorOfTrace& of) { return of.name.empty() ? "(without a name)" : of.name; }

/// The rows, and the row of each communicator by its index in trace::Communicators.
struct CommunicatorRows {
  std::vector<CommunicatorRow> rows;
  std::vector<std::size_t> row_of;
};

/// The time of a call path is exact. It is divided among communicators as in the calls whose events were kept.
void add_times(const Document& d, CommunicatorRows& to) {
  if (!d.found.traffic) return;
  for (CommunicatorRow& row : to.rows) row.seconds = 0;
  std::map<std::uint32_t, double> kept_s;
  for (const auto& of : d.found.traffic->communicators)
    if (static_cast<std::size_t>(of.path) < d.tree.node_of.size())
      kept_s[d.tree.node_of[static_cast<std::size_t>(of.path)]] += of.seconds;
  for (const auto& of : d.found.traffic->communicators) {
    if (of.communicator < 0 || static_cast<std::size_t>(of.communicator) >= to.row_of.size() ||
        static_cast<std::size_t>(of.path) >= d.tree.node_of.size())
      continue;
    const std::uint32_t node = d.tree.node_of[static_cast<std::size_t>(of.path)];
    CommunicatorRow& row = to.rows[to.row_of[static_cast<std::size_t>(of.communicator)]];
    if (kept_s[node] > 0) row.seconds += d.tree.nodes[node].exclusive_s * of.seconds / kept_s[node];
    row.calls += of.calls;
  }
}

CommunicatorRows communicator_rows(const Document& d) {
  // All ranks count, whichever are chosen, as they do in events.
  trace::Communicators all;
  std::map<std::int32_t, std::int64_t> made;  // by index: the maximum over ranks
  for_each_rank(*d.experiment, {}, experiment::Depth::Run, [&](const experiment::Rank& rank) {
    all.add(rank);
    for (const experiment::Communicator& of : rank.communicators) {
      std::int64_t& most = made[all.index_of(rank.rank, of.id)];
      most = std::max(most, of.made);
    }
  });
  CommunicatorRows result;
  std::map<std::string, std::size_t> of_one;
  constexpr std::size_t most_members = 10'000;
  for (std::size_t i = 0; i < all.all().size(); ++i) {
    const trace::CommunicatorOfTrace& of = all.all()[i];
    const bool is_of_one = of.size == 1 && of.remote_size == 0;
    std::size_t at = result.rows.size();
    if (is_of_one) at = of_one.try_emplace(name_of(of), at).first->second;
    if (at == result.rows.size()) result.rows.push_back({name_of(of), of.size, of.remote_size, 0, {}, -1, 0});
    CommunicatorRow& row = result.rows[at];
    row.made += made[static_cast<std::int32_t>(i)];
    for (std::size_t m = 0; m < of.members.size() && row.members.size() < most_members; ++m)
      row.members.push_back(of.members[m]);
    result.row_of.push_back(at);
  }
  for (CommunicatorRow& row : result.rows) {
    std::ranges::sort(row.members);
    row.members.erase(std::unique(row.members.begin(), row.members.end()), row.members.end());
  }
  add_times(d, result);
  return result;
}

}  // namespace

std::vector<Table> communicators_tables(const Document& d) {
  std::vector<Column> all = columns("share: time %, time_s: time") + columns("calls_kept", ForPrograms) +
                            columns("size, remote_size: remote, made, members: ranks, name: communicator");
  Table table{
      "communicators_of_job", std::move(all), [&d](const TakeRow& take) {
        CommunicatorRows all = communicator_rows(d);
        std::ranges::stable_sort(all.rows, std::greater<>{}, &CommunicatorRow::seconds);
        for (const CommunicatorRow& of : all.rows) {
          const bool is_known = of.seconds >= 0;
          take({{is_known ? Cell(of.seconds / d.tree.totals.wall_s) : Cell(), is_known ? Cell(of.seconds) : Cell(),
                 is_known ? Cell(of.calls) : Cell(), std::int64_t{of.size}, std::int64_t{of.remote_size}, of.made,
                 rank_list(of.members), of.name}});
        }
      }};
  table.empty = "There are none.";
  if (d.found.traffic)
    table.footnotes = {
        {"time: of calls that communicate, split among communicators as in the calls whose events were "
         "kept.",
         Note::Faint}};
  return {std::move(table)};
}

}  // namespace refrain::report

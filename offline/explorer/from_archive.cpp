// OTF2 archives.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "offline/explorer/advice.hpp"
#include "offline/explorer/foreign.hpp"
#include "offline/explorer/page.hpp"
#include "offline/explorer/places.hpp"
#include "offline/explorer/value_table.hpp"
#include "offline/patterns/path_names.hpp"
#include "offline/run/path_trie.hpp"
#include "offline/trace/path_sums.hpp"

namespace refrain::explorer {
namespace {

enum OwnMetric : std::size_t { Wall, Mpi, User, Calls, first_pattern };

using PathSums = std::vector<std::map<std::uint32_t, trace::PathSum>>;

/// The threads of the archive, with their times in MPI and elsewhere. `kind_of`: kind of a call path.
std::vector<Thread> threads_of(const trace::Trace& trace, const PathSums& sums,
                               const std::function<run::PathKind(std::uint32_t path)>& kind_of) {
  std::vector<Thread> threads;
  for (const trace::LocationOfTrace& of : trace.locations()) threads.push_back({of.host, of.rank, of.thread});
  constexpr double s_per_ns = 1e-9;
  for (std::size_t location = 0; location < sums.size(); ++location)
    for (const auto& [path, sum] : sums[location])
      (kind_of(path) == run::PathKind::Mpi ? threads[location].mpi_s : threads[location].user_s) +=
          static_cast<double>(sum.ns) * s_per_ns;
  return threads;
}

}  // namespace

Run run_of_archive(const trace::Trace& trace, std::size_t bytes, const std::function<void(double part)>& progress) {
  Run run;
  run.name = trace.archive()->name();
  run.source = "otf2";
  std::set<std::int32_t> ranks;
  for (const trace::LocationOfTrace& of : trace.locations()) ranks.insert(of.rank);
  run.ranks = static_cast<std::int64_t>(ranks.size());
  run.facts = {{"Archive", run.name},
               {"Ranks", std::to_string(run.ranks)},
               {"Locations", std::to_string(trace.locations().size())}};
  run.lacks.push_back({"iterations", "Archives have no iterations here; refrain analyze shows one at a time."});
  run.metrics = {{"wall", "Time", "s", -1, "time in all regions", {}},
                 {"mpi", "MPI", "s", Wall, "time in functions of MPI", {}},
                 {"user", "User code", "s", Wall, "time in all other regions", {}},
                 {"visits", "Visits", "1", -1, "how often a region was entered", {}}};

  const PathSums sums = trace::sums_by_path(trace);
  const patterns::PathNames names(trace);
  patterns::Request request;
  const auto end_ns = static_cast<double>(std::max<std::int64_t>(trace.end_ns(), 1));
  request.progress = [&](std::int64_t time_ns) { progress(static_cast<double>(time_ns) / end_ns); };
  const patterns::Analysis analysis = patterns::analyse(trace, names.naming(), request);
  const auto advice = advice_of(embedded_patterns);
  std::vector<const patterns::PatternResult*> shown;
  for (const patterns::PatternResult& of : analysis.patterns) {
    if (of.is_class || of.cells.empty() || of.all.ns <= 0) continue;
    const auto parent = std::ranges::find(run.metrics, of.about.parent, &Metric::name);
    Metric metric{of.about.name,
                  title_of(of.about.name),
                  "s",
                  parent == run.metrics.end() ? int{Mpi} : static_cast<int>(parent - run.metrics.begin()),
                  of.about.title,
                  {},
                  true,
                  true,
                  Metric::Exact};
    if (const auto at = advice.find(metric.name); at != advice.end()) metric.advice = at->second.advice;
    run.metrics.push_back(std::move(metric));
    shown.push_back(&of);
    if (of.confidence < 1)
      run.lacks.push_back({"trees", fmt::format("{}: all parts of {:.0f} % of the operations are known.",
                                                run.metrics.back().title, 100 * of.confidence)});
  }

  run::PathTrie trie;
  trace::PathNodes nodes(trace, std::uint32_t{0}, [&](std::uint32_t above, const trace::RegionOfTrace& region) {
    return trie.below(above, region.name, region.is_mpi() ? run::PathKind::Mpi : run::PathKind::User,
                      region.role == trace::Role::Loop);
  });
  for (const auto& of : sums)
    for (const auto& [path, sum] : of) nodes.of(path);
  for (const auto* of : shown)
    for (const auto& cell : of->cells) nodes.of(cell.node);
  auto [in_order, place] = trie.in_preorder();
  run.nodes = std::move(in_order);
  std::size_t rows = 2 * run.nodes.size();  // time and visits
  for (const auto* of : shown) {
    std::set<std::uint32_t> paths;
    for (const auto& cell : of->cells) paths.insert(cell.node);
    rows += paths.size();
  }
  const std::vector<Thread> threads = threads_of(
      trace, sums, [&, &place = place](std::uint32_t path) { return run.nodes[place[nodes.of(path)]].kind; });
  Grouping grouping = group_places(threads, room_for_places(room_for_values(bytes), rows));
  run.places = std::move(grouping.places);
  const std::vector<std::uint32_t>& place_of = grouping.place_of;
  if (grouping.is_grouped) run.lacks.push_back(lack_of_threads(threads.size()));
  ValueTable table(run.metrics.size(), run.nodes.size(), run.places.size());
  constexpr double s_per_ns = 1e-9;
  for (std::size_t location = 0; location < sums.size(); ++location)
    for (const auto& [path, sum] : sums[location]) {
      const std::uint32_t node = place[nodes.of(path)];
      table.add(0, run.nodes[node].kind == run::PathKind::Mpi ? Mpi : User, node, place_of[location],
                static_cast<double>(sum.ns) * s_per_ns);
      table.add(0, Calls, node, place_of[location], static_cast<double>(sum.visits));
    }
  for (std::size_t i = 0; i < shown.size(); ++i)
    for (const auto& cell : shown[i]->cells)
      table.add(0, first_pattern + i, place[nodes.of(cell.node)], place_of[cell.location], cell.ns * s_per_ns);
  std::vector<std::uint32_t> all(run.metrics.size());
  for (std::uint32_t m = 0; m < all.size(); ++m) all[m] = m;
  table.finish(all, run);
  return run;
}

}  // namespace refrain::explorer

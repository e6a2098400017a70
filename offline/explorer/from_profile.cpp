// Profiles of other tools.
#include <algorithm>
#include <filesystem>
#include <set>

#include "offline/database/profile_run.hpp"
#include "offline/explorer/advice.hpp"
#include "offline/explorer/foreign.hpp"
#include "offline/explorer/places.hpp"
#include "offline/explorer/value_table.hpp"
#include "offline/run/path_trie.hpp"

namespace refrain::explorer {
namespace {

constexpr const char* time_name = "wall";

/// Time first, with its parts in MPI and user code; all other metrics are roots.
std::vector<std::size_t> order_of(const std::vector<run::Metric>& metrics) {
  std::vector<std::size_t> order;
  for (const std::string_view name : {time_name, "mpi", "user"})
    for (std::size_t m = 0; m < metrics.size(); ++m)
      if (metrics[m].name == name) order.push_back(m);
  for (std::size_t m = 0; m < metrics.size(); ++m)
    if (std::ranges::find(order, m) == order.end()) order.push_back(m);
  return order;
}

}  // namespace

Run run_of_profile(const std::string& path, std::size_t bytes) {
  const auto source = database::profile_run(path);
  Run run;
  run.name = std::filesystem::path(path).filename().string();
  run.source = source->facts().source;
  std::set<std::int64_t> ranks;
  std::vector<Thread> threads;
  for (const database::RunLocation& of : source->locations()) {
    ranks.insert(of.rank);
    threads.push_back({"machine", static_cast<std::int32_t>(of.rank), static_cast<std::int32_t>(of.thread)});
  }
  run.ranks = static_cast<std::int64_t>(ranks.size());
  run.facts = {{"Profile", path}, {"Ranks", std::to_string(run.ranks)}, {"Threads", std::to_string(threads.size())}};
  run.lacks.push_back({"iterations", "Profiles of other tools have no iterations here."});
  const std::vector<std::size_t> order = order_of(source->metrics());
  std::vector<int> number(order.size());
  for (const std::size_t m : order) {
    const run::Metric& of = source->metrics()[m];
    number[m] = static_cast<int>(run.metrics.size());
    const bool is_part = of.name == "mpi" || of.name == "user";
    run.metrics.push_back(
        {of.name, title_of(of.name), of.unit, is_part ? 0 : -1, of.name + ", as the profile has it", {}});
  }
  run::PathTrie trie;
  std::vector<std::uint32_t> node_of;
  for (const database::RunNode& of : source->nodes())
    node_of.push_back(trie.below(of.parent < 0 ? 0 : node_of[static_cast<std::size_t>(of.parent)], of.name, of.kind));
  const auto [nodes, place] = trie.in_preorder();
  run.nodes = nodes;
  const auto index_of = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(run.metrics, name, &Metric::name) - run.metrics.begin());
  };
  const std::size_t wall = index_of(time_name), mpi = index_of("mpi"), user = index_of("user");
  /// Calls `take(node, own)` with the values of each node of a location, by number of the run's metrics.
  const auto for_each_node = [&, &place = place](std::size_t location, const auto& take) {
    source->for_each_node(location, [&](std::uint32_t node, std::span<const double> values) {
      std::vector<double> own(values.size());
      for (std::size_t m = 0; m < values.size(); ++m) own[static_cast<std::size_t>(number[m])] = values[m];
      own[wall] -= own[mpi] + own[user];
      take(place[node_of[node]], own);
    });
  };
  std::vector<bool> has_values(run.metrics.size() * run.nodes.size());  // by node and metric
  for (std::size_t location = 0; location < threads.size(); ++location)
    for_each_node(location, [&](std::uint32_t node, const std::vector<double>& own) {
      threads[location].mpi_s += own[mpi];
      threads[location].user_s += own[user];
      for (std::size_t m = 0; m < own.size(); ++m)
        if (own[m] != 0) has_values[node * own.size() + m] = true;
    });
  const auto rows = static_cast<std::size_t>(std::ranges::count(has_values, true));
  Grouping grouping = group_places(threads, room_for_places(room_for_values(bytes), rows));
  run.places = std::move(grouping.places);
  if (grouping.is_grouped) run.lacks.push_back(lack_of_threads(threads.size()));
  ValueTable table(run.metrics.size(), run.nodes.size(), run.places.size());
  for (std::size_t location = 0; location < threads.size(); ++location)
    for_each_node(location, [&](std::uint32_t node, const std::vector<double>& own) {
      for (std::size_t m = 0; m < own.size(); ++m) table.add(0, m, node, grouping.place_of[location], own[m]);
    });
  std::vector<std::uint32_t> all(run.metrics.size());
  for (std::uint32_t m = 0; m < all.size(); ++m) all[m] = m;
  table.finish(all, run);
  return run;
}

}  // namespace refrain::explorer

// Profiles of other tools.
#include <algorithm>
#include <filesystem>
#include <set>

#include "offline/database/profile_run.hpp"
#include "offline/explorer/advice.hpp"
#include "offline/explorer/foreign.hpp"
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

Run run_of_profile(const std::string& path) {
  const auto source = database::profile_run(path);
  Run run;
  run.name = std::filesystem::path(path).filename().string();
  run.source = source->facts().source;
  std::set<std::int64_t> ranks;
  for (const database::RunLocation& of : source->locations()) {
    ranks.insert(of.rank);
    const auto rank = static_cast<std::int32_t>(of.rank);
    run.places.push_back({"machine", rank, static_cast<std::int32_t>(of.thread), 1, rank, {}});
  }
  run.ranks = static_cast<std::int64_t>(ranks.size());
  run.facts = {{"Profile", path}, {"Ranks", std::to_string(run.ranks)}, {"Threads", std::to_string(run.places.size())}};
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
  ValueTable table(run.metrics.size(), run.nodes.size(), run.places.size());
  const auto index_of = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(run.metrics, name, &Metric::name) - run.metrics.begin());
  };
  const std::size_t wall = index_of(time_name), mpi = index_of("mpi"), user = index_of("user");
  for (std::size_t location = 0; location < run.places.size(); ++location)
    source->for_each_node(location, [&, &place = place](std::uint32_t node, std::span<const double> values) {
      std::vector<double> own(values.size());
      for (std::size_t m = 0; m < values.size(); ++m) own[static_cast<std::size_t>(number[m])] = values[m];
      own[wall] -= own[mpi] + own[user];
      for (std::size_t m = 0; m < own.size(); ++m) table.add(0, m, place[node_of[node]], location, own[m]);
    });
  std::vector<std::uint32_t> all(run.metrics.size());
  for (std::uint32_t m = 0; m < all.size(); ++m) all[m] = m;
  table.finish(all, run);
  return run;
}

}  // namespace refrain::explorer

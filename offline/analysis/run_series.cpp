#include "offline/analysis/run_series.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "offline/analysis/iteration_metrics.hpp"
#include "offline/analysis/iterations.hpp"

namespace refrain::analysis {
namespace {

constexpr std::size_t most_ranks = 16;
/// A loop that is longer has its first iterations compared.
constexpr std::int64_t most_iterations = 1'000'000;

std::string path_name(const CallTree& tree, std::uint32_t node) {
  std::string result;
  for (const std::string& name : path_to(tree, node)) result += (result.empty() ? "" : " > ") + name;
  return result;
}

/// A call path of a loop, or all of it.
struct Wanted {
  std::string path;
  std::uint32_t node = 0;
  double sampling_error =
      0;  ///< of its time, as a part of it: how iterations share out samples, which all of them have in common
  PathSelection selection;
  std::vector<double> sums;  ///< by iteration
};

struct OfLoop {
  std::vector<Wanted> wanted;
  std::vector<std::int64_t> counts;  ///< locations, by iteration
};

/// Nodes of the tree that are this marked loop.
std::vector<std::uint32_t> nodes_of_loop(const CallTree& tree, const std::string& loop) {
  std::vector<std::uint32_t> nodes;
  for (std::size_t i = 1; i < tree.nodes.size(); ++i)
    if (tree.nodes[i].marked && tree.nodes[i].name == loop) nodes.push_back(static_cast<std::uint32_t>(i));
  return nodes;
}

OfLoop wanted_of(const CallTree& tree, const std::string& loop, double least_share) {
  OfLoop of;
  Wanted& all = of.wanted.emplace_back();
  all.selection.everything = true;
  const std::vector<std::uint32_t> roots = nodes_of_loop(tree, loop);
  double time = 0;
  for (const std::uint32_t root : roots) time += tree.nodes[root].inclusive_s;
  std::vector<bool> below(tree.nodes.size());
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const auto parent = static_cast<std::size_t>(tree.nodes[i].parent);
    below[i] = below[parent] || std::ranges::find(roots, static_cast<std::uint32_t>(parent)) != roots.end();
    if (!below[i] || tree.nodes[i].inclusive_s < least_share * time) continue;
    Wanted& wanted = of.wanted.emplace_back();
    wanted.node = static_cast<std::uint32_t>(i);
    wanted.path = path_name(tree, wanted.node);
    if (tree.nodes[i].inclusive_s > 0)
      wanted.sampling_error = tree.nodes[i].standard_error_s / tree.nodes[i].inclusive_s;
  }
  for (Wanted& wanted : of.wanted) {
    if (wanted.node == 0) continue;
    std::vector<bool> chosen(tree.nodes.size());
    chosen[wanted.node] = true;
    for (std::size_t i = wanted.node + 1; i < chosen.size(); ++i)
      chosen[i] = chosen[static_cast<std::size_t>(tree.nodes[i].parent)];
    wanted.selection.paths.resize(tree.node_of.size());
    for (std::size_t path = 0; path < tree.node_of.size(); ++path)
      wanted.selection.paths[path] = tree.node_of[path] != 0 && chosen[tree.node_of[path]];
  }
  return of;
}

void add_location(const experiment::ProfileDefinitions& definitions, const experiment::Rank& rank,
                  const experiment::Location& location, std::size_t number, OfLoop& of) {
  const IterationProfiles profiles(definitions, rank, location, number);
  std::vector<IterationValue> values;
  for (const Wanted& wanted : of.wanted)
    values.push_back(wanted.node == 0 ? value_of_metric(profiles, "wall")
                                      : value_of_callpaths(profiles, wanted.selection, "wall"));
  for_each_iteration(location.loops[number],
                     [&](std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) {
                       if (iteration < 0 || iteration >= most_iterations) return;
                       const auto place = static_cast<std::size_t>(iteration);
                       if (of.counts.size() <= place) of.counts.resize(place + 1);
                       ++of.counts[place];
                       for (std::size_t i = 0; i < values.size(); ++i) {
                         if (of.wanted[i].sums.size() <= place) of.wanted[i].sums.resize(place + 1);
                         if (values[i]) of.wanted[i].sums[place] += values[i](iteration, cluster, row);
                       }
                     });
}

std::vector<RunSeries> series_of_totals(const CallTree& tree, double least_share) {
  constexpr int many = 1000;  // samples, of which the errors are
  std::vector<RunSeries> all;
  const auto add = [&](std::string path, double seconds, double error) {
    const BatchValue value{seconds, error, many};
    all.push_back({{}, std::move(path), 1, value, value});
  };
  add({}, tree.totals.wall_s, 0);
  for (std::size_t i = 1; i < tree.nodes.size(); ++i)
    if (tree.nodes[i].inclusive_s >= least_share * tree.totals.wall_s)
      add(path_name(tree, static_cast<std::uint32_t>(i)), tree.nodes[i].inclusive_s, tree.nodes[i].standard_error_s);
  return all;
}

}  // namespace

std::vector<RunSeries> series_of_run(const experiment::Experiment& experiment, const CallTree& tree,
                                     double least_share) {
  std::map<std::string, OfLoop> loops;
  const std::size_t ranks = experiment.ranks().size(), chosen = std::min(ranks, most_ranks);
  for (std::size_t i = 0; i < chosen; ++i) {
    const auto rank = experiment.rank(i * ranks / chosen, experiment::Depth::Whole);
    if (!rank) continue;
    for (const experiment::Location& location : rank->locations)
      for (std::size_t number = 0; number < location.loops.size(); ++number) {
        const std::string& name = location.loops[number].name;
        auto at = loops.find(name);
        if (at == loops.end()) at = loops.emplace(name, wanted_of(tree, name, least_share)).first;
        add_location(experiment.definitions(), *rank, location, number, at->second);
      }
  }
  std::vector<RunSeries> all;
  for (auto& [name, of] : loops)
    for (Wanted& wanted : of.wanted) {
      std::vector<double> seconds;
      for (std::size_t i = 0; i < of.counts.size(); ++i)
        if (of.counts[i] > 0) seconds.push_back(wanted.sums[i] / static_cast<double>(of.counts[i]));
      RunSeries& series = all.emplace_back(series_of_times(seconds));
      series.loop = name;
      series.path = wanted.path;
      // Of some ranks there are fewer samples than of all.
      const double sampling =
          wanted.sampling_error * std::sqrt(static_cast<double>(ranks) / static_cast<double>(chosen));
      for (BatchValue* value : {&series.lower, &series.mean})
        value->error = std::hypot(value->error, sampling * value->value);
    }
  return all.empty() ? series_of_totals(tree, least_share) : all;
}

}  // namespace refrain::analysis

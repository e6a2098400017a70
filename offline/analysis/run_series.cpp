#include "offline/analysis/run_series.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "offline/analysis/callpath_match.hpp"
#include "offline/run/iteration_metrics.hpp"
#include "offline/run/iterations.hpp"

namespace refrain::analysis {
namespace {

/// Only the first iterations of a longer loop are compared, or of one with very many call paths.
constexpr std::int64_t most_iterations = 1'000'000, most_values = 32'000'000;

/// Names of the nodes below `top`, down to `node`; `top` 0: from the root.
std::string path_name(const CallTree& tree, std::uint32_t node, std::uint32_t top = 0) {
  std::string result = tree.nodes[node].name;
  for (std::int32_t at = tree.nodes[node].parent; at > 0 && static_cast<std::uint32_t>(at) != top;
       at = tree.nodes[static_cast<std::size_t>(at)].parent)
    result = tree.nodes[static_cast<std::size_t>(at)].name + " > " + result;
  return result;
}

/// A call path of a loop, or all of it.
struct Wanted {
  std::string path;
  std::vector<std::uint32_t> nodes;  ///< several if the loop is marked in several places; empty: all of it
  /// As a part of its time; common to all iterations, which share the same samples.
  double sampling_error = 0;
  run::PathSelection selection;
  std::vector<double> sums;  ///< by iteration
};

struct OfLoop {
  std::vector<Wanted> wanted;
  std::vector<std::int64_t> counts;  ///< number of first threads that have the iteration, by iteration
};

/// By node: the nearest node above it that is this marked loop; 0: none.
std::vector<std::uint32_t> loop_above(const CallTree& tree, const std::string& loop) {
  std::vector<std::uint32_t> above(tree.nodes.size());
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const auto parent = static_cast<std::uint32_t>(tree.nodes[i].parent);
    const bool is_loop = parent != 0 && tree.nodes[parent].marked && tree.nodes[parent].name == loop;
    above[i] = is_loop ? parent : above[parent];
  }
  return above;
}

OfLoop wanted_of(const CallTree& tree, const std::string& loop, double least_share,
                 const std::set<std::pair<std::string, std::string>>& also) {
  OfLoop of;
  of.wanted.emplace_back().selection.everything = true;
  const std::vector<std::uint32_t> above = loop_above(tree, loop);
  std::map<std::string, std::vector<std::uint32_t>> by_path;
  double time = 0;
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
    if (tree.nodes[i].marked && tree.nodes[i].name == loop) time += tree.nodes[i].inclusive_s;
    if (above[i] != 0) by_path[path_name(tree, i, above[i])].push_back(i);
  }
  for (auto& [path, nodes] : by_path) {
    double inclusive = 0, squares = 0;
    for (const std::uint32_t node : nodes) {
      inclusive += tree.nodes[node].inclusive_s;
      squares += tree.nodes[node].standard_error_s * tree.nodes[node].standard_error_s;
    }
    if (!(inclusive > 0) || (inclusive < least_share * time && !also.contains({loop, path}))) continue;
    run::PathSelection selection;
    selection.paths = paths_below(tree, nodes);
    of.wanted.push_back({path, std::move(nodes), std::sqrt(squares) / inclusive, std::move(selection), {}});
  }
  return of;
}

void add_location(const experiment::ProfileDefinitions& definitions, const experiment::Rank& rank,
                  const experiment::Location& location, std::size_t number, OfLoop& of) {
  const run::IterationProfiles profiles(definitions, rank, location, number);
  std::vector<run::IterationValue> values;
  const std::int64_t most = std::min(most_iterations, most_values / static_cast<std::int64_t>(of.wanted.size()));
  for (const Wanted& wanted : of.wanted)
    values.push_back(wanted.nodes.empty() ? run::value_of_metric(profiles, "wall")
                                          : run::value_of_callpaths(profiles, wanted.selection, "wall"));
  run::for_each_iteration(location.loops[number],
                          [&](std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) {
                            if (iteration < 0 || iteration >= most) return;
                            const auto place = static_cast<std::size_t>(iteration);
                            if (of.counts.size() <= place) of.counts.resize(place + 1);
                            // The time of a call path is the sum over the threads of a rank; that of an
                            // iteration is the first thread's.
                            of.counts[place] += location.thread == 0;
                            for (std::size_t i = 0; i < values.size(); ++i) {
                              if (of.wanted[i].nodes.empty() && location.thread != 0) continue;
                              if (of.wanted[i].sums.size() <= place) of.wanted[i].sums.resize(place + 1);
                              if (values[i]) of.wanted[i].sums[place] += values[i](iteration, cluster, row);
                            }
                          });
}

/// Series of the whole run: means over its locations. How times differ within the run is not known.
std::vector<RunSeries> series_of_totals(const CallTree& tree, double least_share) {
  std::vector<RunSeries> all;
  const auto locations = static_cast<double>(std::max<std::size_t>(tree.locations.size(), 1));
  const auto add = [&](std::string path, double seconds, double error) {
    const BatchValue value{seconds / locations, error / locations, 1};
    all.push_back({{}, std::move(path), 1, value, value, {}, value.error});
  };
  add({}, tree.totals.wall_s, 0);
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i)
    if (tree.nodes[i].inclusive_s >= least_share * tree.totals.wall_s)
      add(path_name(tree, i), tree.nodes[i].inclusive_s, tree.nodes[i].standard_error_s);
  return all;
}

}  // namespace

std::vector<RunSeries> series_of_run(const experiment::Experiment& experiment, const CallTree& tree, double least_share,
                                     const std::set<std::pair<std::string, std::string>>& also) {
  std::map<std::string, OfLoop> loops;
  const std::size_t ranks = experiment.ranks().size(), chosen = std::min(ranks, most_ranks_of_series);
  for (std::size_t i = 0; i < chosen; ++i) {
    const auto rank = experiment.rank(i * ranks / chosen, experiment::Depth::Whole);
    if (!rank) continue;
    for (const experiment::Location& location : rank->locations)
      for (std::size_t number = 0; number < location.loops.size(); ++number) {
        const std::string& name = location.loops[number].name;
        auto at = loops.find(name);
        if (at == loops.end()) at = loops.emplace(name, wanted_of(tree, name, least_share, also)).first;
        add_location(experiment.definitions(), *rank, location, number, at->second);
      }
  }
  std::vector<RunSeries> all;
  for (auto& [name, of] : loops)
    for (Wanted& wanted : of.wanted) {
      wanted.sums.resize(of.counts.size());
      std::vector<double> seconds;
      for (std::size_t i = 0; i < of.counts.size(); ++i)
        if (const double mean = wanted.sums[i] / static_cast<double>(of.counts[i]); std::isfinite(mean))
          seconds.push_back(mean);
      RunSeries& series = all.emplace_back(series_of_times(seconds));
      series.loop = name;
      series.path = wanted.path;
      // The chosen ranks have fewer samples than all ranks.
      const double sampling =
          wanted.sampling_error * std::sqrt(static_cast<double>(ranks) / static_cast<double>(chosen));
      for (BatchValue* value : {&series.lower, &series.mean}) value->add_error(sampling * value->value);
      series.sampling_s = sampling * series.mean.value;
    }
  return all.empty() ? series_of_totals(tree, least_share) : all;
}

}  // namespace refrain::analysis

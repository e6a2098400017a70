#include "offline/analysis/several_runs.hpp"

#include <algorithm>
#include <cmath>

#include "offline/run/path_trie.hpp"
#include "statistics/statistics.hpp"

namespace refrain::analysis {
namespace {

struct OfOneRun {
  double exclusive_s = 0, inclusive_s = 0, mpi_calls = 0;
  bool is_there = false;
};

}  // namespace

OverRuns over_runs(std::span<const double> values) {
  OverRuns of;
  of.runs = values.size();
  if (values.empty()) return of;
  of.mean = statistics::mean(values);
  of.least = std::ranges::min(values);
  of.greatest = std::ranges::max(values);
  if (of.runs < 2) return of;
  of.deviation = std::sqrt(statistics::variance(values));
  of.standard_error = *of.deviation / std::sqrt(static_cast<double>(of.runs));
  return of;
}

std::vector<PathOverRuns> paths_over_runs(std::span<const RunOfSeveral> runs) {
  const bool are_told_apart =
      std::ranges::all_of(runs, [](const RunOfSeveral& of) { return of.tree->totals.off_cpu_is_told_apart; });
  run::PathTrie trie;
  std::vector<std::vector<OfOneRun>> values(runs.size());  // by run, by number in the trie
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const CallTree& tree = *runs[r].tree;
    std::vector<std::uint32_t> number(tree.nodes.size());
    for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
      const TreeNode& node = tree.nodes[i];
      const bool is_one = !are_told_apart && node.parent == 0 && run::is_off_cpu(node.name);
      number[i] = trie.below(number[static_cast<std::size_t>(node.parent)], is_one ? run::not_on_cpu_name : node.name,
                             node.kind, node.marked);
      values[r].resize(trie.size());
      OfOneRun& of = values[r][number[i]];
      of.exclusive_s += node.exclusive_s / runs[r].ranks;
      of.inclusive_s += node.inclusive_s / runs[r].ranks;
      of.mpi_calls += static_cast<double>(node.inclusive[format::MetricId::Visits]) / runs[r].ranks;
      of.is_there = true;
    }
  }
  for (auto& of_run : values) of_run.resize(trie.size());

  const auto [nodes, place] = trie.in_preorder();
  std::vector<std::uint32_t> number(nodes.size());
  for (std::uint32_t i = 0; i < place.size(); ++i) number[place[i]] = i;
  std::vector<PathOverRuns> paths;
  std::vector<std::vector<std::string>> names(nodes.size());
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    names[i] = names[static_cast<std::size_t>(nodes[i].parent)];
    names[i].push_back(nodes[i].name);
    std::vector<double> exclusive_s, inclusive_s, mpi_calls;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const OfOneRun& of = values[r][number[i]];
      if (!of.is_there && !runs[r].saw_whole) continue;
      exclusive_s.push_back(of.exclusive_s);
      inclusive_s.push_back(of.inclusive_s);
      if (runs[r].has_calls) mpi_calls.push_back(of.mpi_calls);
    }
    paths.push_back({names[i], nodes[i].kind, over_runs(exclusive_s), over_runs(inclusive_s), over_runs(mpi_calls)});
  }
  return paths;
}

}  // namespace refrain::analysis

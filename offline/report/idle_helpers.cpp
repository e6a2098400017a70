#include "offline/report/idle_helpers.hpp"

#include <algorithm>
#include <map>

namespace refrain::report {
namespace {

analysis::Spread spread_of(const std::map<std::int32_t, double>& by_number) {
  if (by_number.empty()) return {};
  analysis::Spread spread{by_number.begin()->second, 0, by_number.begin()->second};
  for (const auto& [rank, seconds] : by_number) {
    spread.min = std::min(spread.min, seconds);
    spread.max = std::max(spread.max, seconds);
    spread.mean += seconds / static_cast<double>(by_number.size());
  }
  return spread;
}

}  // namespace

double idle_helpers_s(const analysis::CallTree& tree) {
  if (!(elapsed_s(tree) > 0)) return 0;
  double seconds = 0;
  for (const analysis::LocationSummary& of : tree.locations)
    if (of.thread != 0) seconds += of.not_on_cpu_s;
  return seconds;
}

std::optional<analysis::CallTree> without_idle_helpers(const analysis::CallTree& tree) {
  const double idle_s = idle_helpers_s(tree);
  if (!(idle_s > 0)) return std::nullopt;
  std::map<std::int32_t, double> busy_s, not_on_cpu_s;  // by what the tree's times are spread over
  for (const analysis::LocationSummary& of : tree.locations) {
    const std::int32_t number = tree.spread_over_threads ? of.thread : of.rank;
    busy_s[number] += of.thread == 0 ? of.wall_s : of.wall_s - of.not_on_cpu_s;
    not_on_cpu_s[number] += of.thread == 0 ? of.not_on_cpu_s : 0;
  }
  analysis::CallTree without = tree;
  analysis::TreeNode& root = without.nodes[0];
  root.inclusive_s -= idle_s;
  root.spread = spread_of(busy_s);
  for (const std::uint32_t child : root.children) {
    analysis::TreeNode& node = without.nodes[child];
    if (node.name != analysis::not_on_cpu_name) continue;
    node.exclusive_s = std::max(node.exclusive_s - idle_s, 0.0);
    node.inclusive_s = std::max(node.inclusive_s - idle_s, 0.0);
    node.spread = spread_of(not_on_cpu_s);
  }
  without.totals.wall_s -= idle_s;
  without.totals.not_on_cpu_s = without.totals.not_on_cpu_low_s = without.totals.not_on_cpu_high_s = 0;
  for (const analysis::LocationSummary& of : tree.locations) {
    if (of.thread != 0) continue;
    without.totals.not_on_cpu_s += of.not_on_cpu_s;
    without.totals.not_on_cpu_low_s += of.not_on_cpu_low_s;
    without.totals.not_on_cpu_high_s += of.not_on_cpu_high_s;
  }
  return without;
}

}  // namespace refrain::report

#include "offline/report/idle_helpers.hpp"

#include <algorithm>
#include <map>

namespace refrain::report {
namespace {

/// The idle time of a thread: waiting for a core is not idle time.
double idle_s(const analysis::LocationSummary& of) { return of.not_on_cpu_s - of.waited_for_core_s; }
/// Idle time is in one of two nodes: blocked time, or all time off the CPU if its causes are not told apart.
bool has_idle_time(const analysis::TreeNode& node) {
  return node.parent == 0 && (node.name == run::blocked_name || node.name == run::not_on_cpu_name);
}

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
    if (of.thread != 0) seconds += idle_s(of);
  return seconds;
}

std::optional<analysis::CallTree> without_idle_helpers(const analysis::CallTree& tree) {
  const double all_idle_s = idle_helpers_s(tree);
  if (!(all_idle_s > 0)) return std::nullopt;
  double blocked_s = 0;                                                   // part of the idle time
  std::map<std::int32_t, double> busy_s, of_first_s, of_first_blocked_s;  // by rank or thread, like the tree's spread
  for (const analysis::LocationSummary& of : tree.locations) {
    const std::int32_t number = tree.spread_over_threads ? of.thread : of.rank;
    const bool is_first = of.thread == 0;
    busy_s[number] += is_first ? of.wall_s : of.wall_s - idle_s(of);
    of_first_blocked_s[number] += is_first ? of.blocked_s : 0;
    of_first_s[number] += is_first ? idle_s(of) - of.blocked_s : 0;
    if (!is_first) blocked_s += of.blocked_s;
  }
  analysis::CallTree without = tree;
  analysis::TreeNode& root = without.nodes[0];
  root.inclusive_s -= all_idle_s;
  root.spread = spread_of(busy_s);
  for (const std::uint32_t child : root.children) {
    analysis::TreeNode& node = without.nodes[child];
    if (!has_idle_time(node)) continue;
    const bool is_blocked = node.name == run::blocked_name;
    const double out_s = is_blocked ? blocked_s : all_idle_s - blocked_s;
    node.exclusive_s = std::max(node.exclusive_s - out_s, 0.0);
    node.inclusive_s = std::max(node.inclusive_s - out_s, 0.0);
    node.spread = spread_of(is_blocked ? of_first_blocked_s : of_first_s);
  }
  analysis::Totals& totals = without.totals;
  totals.wall_s -= all_idle_s;
  totals.not_on_cpu_s -= all_idle_s;
  totals.blocked_s -= blocked_s;
  totals.not_on_cpu_low_s = totals.not_on_cpu_high_s = 0;
  for (const analysis::LocationSummary& of : tree.locations) {
    totals.not_on_cpu_low_s += of.thread == 0 ? of.not_on_cpu_low_s : of.waited_for_core_s;
    totals.not_on_cpu_high_s += of.thread == 0 ? of.not_on_cpu_high_s : of.waited_for_core_s;
  }
  return without;
}

}  // namespace refrain::report

// Threads that have nothing to do while others compute.
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "offline/analysis/named_paths.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/findings/facts.hpp"
#include "offline/findings/rules_of.hpp"

namespace refrain::findings {
namespace {

/// By node of the tree.
struct ParallelNodes {
  std::vector<bool> in_body;    ///< of a parallel construct, with what it calls
  std::vector<bool> in_either;  ///< or in the runtime that has called it
  bool any = false;             ///< there is a body
};

ParallelNodes parallel_nodes(const analysis::CallTree& tree) {
  ParallelNodes of{std::vector<bool>(tree.nodes.size()), std::vector<bool>(tree.nodes.size())};
  for (std::size_t node = 1; node < tree.nodes.size(); ++node) {
    const auto parent = static_cast<std::size_t>(tree.nodes[node].parent);
    const bool is_body = analysis::is_parallel_body(tree.nodes[node].name);
    of.any |= is_body;
    of.in_body[node] = is_body || of.in_body[parent];
    of.in_either[node] = of.in_body[node] || of.in_either[parent] || analysis::is_openmp_runtime(tree.nodes[node].name);
  }
  return of;
}

}  // namespace

void serial_section(const Facts& facts, std::vector<Finding>& found) {
  const analysis::CallTree& tree = facts.tree;
  const ParallelNodes parallel = parallel_nodes(tree);
  if (!parallel.any) return;
  std::vector<double> serial(tree.nodes.size());
  std::map<std::pair<std::int32_t, std::int32_t>, double> working_s;  // of worker threads
  facts.for_each_user_time([&](std::int32_t rank, std::int32_t thread, std::uint32_t node, double seconds) {
    if (thread == 0) serial[node] += parallel.in_either[node] ? 0 : seconds;
    else if (parallel.in_either[node]) working_s[{rank, thread}] += parallel.in_body[node] ? seconds : 0;
  });
  // Helper threads of other kinds have no part in it.
  double work_s = 0, capacity_s = 0;
  for (const analysis::LocationSummary& of : tree.locations) {
    const auto at = working_s.find({of.rank, of.thread});
    if (at == working_s.end()) continue;
    work_s += at->second;
    capacity_s += of.wall_s;
  }
  if (!(capacity_s > 0)) return;
  for (std::size_t node = serial.size(); node-- > 1;)
    serial[static_cast<std::size_t>(tree.nodes[node].parent)] += serial[node];
  const double share = serial[0] / facts.elapsed_s();
  constexpr double least_serial = 0.1, most_work = 0.7, most_of_it = 0.6, percent = 100;
  if (share < least_serial || work_s > most_work * capacity_s) return;
  std::uint32_t at = 0;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (const std::uint32_t child : tree.nodes[at].children)
      if (serial[child] > most_of_it * serial[0]) {
        at = child;
        goes_on = true;
        break;
      }
  }
  std::string text = fmt::format(
      "the first threads of ranks compute alone, while worker threads of OpenMP have work for "
      "{:.0f} % of their time",
      percent * work_s / capacity_s);
  if (at != 0) text += ", mostly in " + analysis::short_path(path_to(tree, at));
  found.push_back({"", share, std::sqrt(facts.period_s() * serial[0]) / facts.elapsed_s(), text, {"--thread", "0"}});
}

}  // namespace refrain::findings

// Threads that have nothing to do while others compute.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "offline/analysis/named_paths.hpp"
#include "offline/findings/facts.hpp"
#include "offline/findings/rules_of.hpp"
#include "statistics/statistics.hpp"

namespace refrain::findings {
namespace {

/// The part of each node of the tree in parallel constructs.
struct ParallelNodes {
  std::vector<bool> in_body;    ///< in the body of a parallel construct, or called from it
  std::vector<bool> in_either;  ///< in a body, or in the runtime that has called it
  std::vector<bool> waits;      ///< in the runtime, or called from it outside of a body
  /// The outermost node of the body, or of what the body has called by a jump, which leaves no frame of it; 0: none.
  std::vector<std::uint32_t> body;
  bool any = false;         ///< there is a body
  bool any_jumped = false;  ///< there is a body without a frame
};

ParallelNodes parallel_nodes(const analysis::CallTree& tree) {
  const std::vector<bool> none(tree.nodes.size());
  ParallelNodes of{none, none, none, std::vector<std::uint32_t>(tree.nodes.size())};
  for (std::uint32_t node = 1; node < tree.nodes.size(); ++node) {
    const auto parent = static_cast<std::size_t>(tree.nodes[node].parent);
    const bool is_body = analysis::is_parallel_body(tree.nodes[node].name),
               is_runtime = analysis::is_openmp_runtime(tree.nodes[node].name);
    of.any |= is_body;
    of.in_body[node] = is_body || of.in_body[parent];
    of.in_either[node] = of.in_body[node] || of.in_either[parent] || is_runtime;
    // All that this function calls outside of the runtime is the body.
    const bool is_jumped = !is_body && !is_runtime && tree.nodes[parent].name.starts_with("GOMP_parallel");
    of.any_jumped |= is_jumped;
    of.waits[node] = !is_body && !is_jumped && (is_runtime || of.waits[parent]);
    of.body[node] = is_body || is_jumped ? node : of.waits[node] ? 0 : of.body[parent];
  }
  return of;
}

/// Seconds of the threads of a rank in the body of one construct, without waiting there.
using WorkOfThreads = std::map<std::int32_t, double>;

/// Excess of the thread with most work over the mean, in one construct on one rank.
struct Unevenness {
  double seconds = 0, error_s = 0;
  std::int32_t most = 0, least = 0;  ///< threads
  double most_s = 0, mean_s = 0;
};

Unevenness unevenness_of(const WorkOfThreads& work, double period_s) {
  Unevenness of;
  const auto by_work = [](const auto& one) { return one.second; };
  const auto most = std::ranges::max_element(work, {}, by_work), least = std::ranges::min_element(work, {}, by_work);
  for (const auto& [thread, seconds] : work) of.mean_s += seconds / static_cast<double>(work.size());
  of.most = most->first;
  of.least = least->first;
  of.most_s = most->second;
  of.seconds = of.most_s - of.mean_s;
  of.error_s = statistics::error_of_sampled_time(of.most_s + of.mean_s / static_cast<double>(work.size()), period_s);
  return of;
}

}  // namespace

void uneven_threads(const Facts& facts, std::vector<Finding>& found) {
  // Among many threads, one is a few standard errors above the mean by chance.
  constexpr double certain = 5;
  const analysis::CallTree& tree = facts.tree;
  const ParallelNodes parallel = parallel_nodes(tree);
  if (!parallel.any) return;
  // Time without a frame of its body may belong to any construct: then all constructs are taken together.
  constexpr std::uint32_t all_together = 0;
  std::map<std::uint32_t, std::map<std::int32_t, WorkOfThreads>> work;   // by body and rank
  std::map<std::int32_t, std::map<std::int32_t, bool>> works_somewhere;  // of threads that wait for work, or have it
  std::map<std::uint32_t, double> by_body;
  std::map<std::int32_t, double> waiting_s;  // by rank, of all its threads
  facts.for_each_user_time([&](std::int32_t rank, std::int32_t thread, std::uint32_t node, double seconds) {
    if (!parallel.in_either[node]) return;
    if (parallel.body[node] == 0) waiting_s[rank] += seconds;
    works_somewhere[rank][thread] |= !analysis::is_openmp_runtime(tree.nodes[node].name) && seconds > 0;
    if (parallel.body[node] == 0 || !(seconds > 0)) return;
    work[parallel.any_jumped ? all_together : parallel.body[node]][rank][thread] += seconds;
    by_body[parallel.body[node]] += seconds;
  });
  if (by_body.empty()) return;
  const std::uint32_t largest = std::ranges::max_element(by_body, {}, [](const auto& of) { return of.second; })->first;
  for (const analysis::LocationSummary& of : tree.locations)
    if (of.thread != 0 && works_somewhere[of.rank].contains(of.thread))
      waiting_s[of.rank] += of.not_on_cpu_s - of.waited_for_core_s;
  std::map<std::int32_t, double> excess_s;  // by rank
  double squares = 0;
  std::uint32_t worst_node = 0;
  std::int32_t worst_rank = 0;
  Unevenness worst;
  for (auto& [node, of_ranks] : work)
    for (auto& [rank, threads] : of_ranks) {
      // A thread without work in any construct may be one for which there was no work.
      for (const auto& [thread, works] : works_somewhere[rank])
        if (!works) threads.try_emplace(thread, 0);
      if (threads.size() < 2) continue;
      const Unevenness of = unevenness_of(threads, tree.period_s());
      if (of.seconds < certain * of.error_s) continue;
      excess_s[rank] += of.seconds;
      squares += of.error_s * of.error_s;
      if (of.seconds > worst.seconds) {
        worst = of;
        worst_node = node == all_together ? largest : node;
        worst_rank = rank;
      }
    }
  // A thread with less work in one construct may have other work meanwhile, as with tasks: then no thread waits.
  double all_s = 0;
  for (const auto& [rank, seconds] : excess_s)
    all_s += std::min(seconds, waiting_s[rank] / static_cast<double>(works_somewhere[rank].size()));
  const double share = all_s / facts.elapsed_s();
  if (share < least_share) return;
  found.push_back({.share = share,
                   .error = std::sqrt(squares) / facts.elapsed_s(),
                   .paths = {path_to(tree, worst_node)},
                   .ranks = facts.first_threads().size() > 1 || worst_rank > 0 ? Ranks({worst_rank}) : Ranks(),
                   .figures = {{Figure::Mean, worst.most_s},
                               {Figure::Others, worst.mean_s},
                               {Figure::Thread, static_cast<double>(worst.most)},
                               {Figure::OtherThread, static_cast<double>(worst.least)}}});
}

void serial_section(const Facts& facts, std::vector<Finding>& found) {
  const analysis::CallTree& tree = facts.tree;
  const ParallelNodes parallel = parallel_nodes(tree);
  if (!parallel.any) return;
  std::vector<double> serial(tree.nodes.size());
  std::map<std::pair<std::int32_t, std::int32_t>, double> working_s;  // of worker threads
  std::set<std::int32_t> with_workers;                                // ranks; on the others no worker waits
  facts.for_each_user_time([&](std::int32_t rank, std::int32_t thread, std::uint32_t node, double seconds) {
    if (thread == 0 || !parallel.in_either[node]) return;
    working_s[{rank, thread}] += analysis::is_openmp_runtime(tree.nodes[node].name) ? 0 : seconds;
    with_workers.insert(rank);
  });
  facts.for_each_user_time([&](std::int32_t rank, std::int32_t thread, std::uint32_t node, double seconds) {
    if (thread == 0 && with_workers.contains(rank)) serial[node] += parallel.in_either[node] ? 0 : seconds;
  });
  // Helper threads of other kinds do not count.
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
  constexpr double least_serial = 0.1, most_work = 0.7, most_of_it = 0.6;
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
  found.push_back({.share = share,
                   .error = statistics::error_of_sampled_time(serial[0], tree.period_s()) / facts.elapsed_s(),
                   .figures = {{Figure::WorkShare, work_s / capacity_s}}});
  if (at != 0) found.back().paths.push_back(path_to(tree, at));
}

}  // namespace refrain::findings

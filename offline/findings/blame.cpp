#include "offline/findings/blame.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "offline/analysis/cluster_differences.hpp"
#include "offline/analysis/sampled_difference.hpp"
#include "offline/run/iteration_metrics.hpp"
#include "offline/run/iterations.hpp"

namespace refrain::findings {
namespace {

/// Sums over the iterations that are not chosen, and over those that are.
struct Halves {
  double iterations[2] = {}, user_s[2] = {}, waited_s[2] = {}, blocked_s[2] = {};

  double more_s() const { return more(user_s); }
  double more(const double (&seconds)[2]) const {
    return iterations[0] > 0 && iterations[1] > 0 ? seconds[1] / iterations[1] - seconds[0] / iterations[0] : 0;
  }
};

/// The sums of one rank, and how many iterations of each cluster are chosen.
struct OfRank {
  Halves all;
  std::vector<double> members;
  std::vector<analysis::SampledTimes> sampled;  ///< iterations whose samples were kept: others and chosen ones
};

OfRank compare(const Facts& facts, const run::IterationProfiles& profiles, const Chosen& chosen) {
  OfRank of;
  of.members.resize(profiles.loop().clusters.size());
  of.sampled.assign(2, analysis::SampledTimes(facts.tree.nodes.size()));
  const auto user = run::value_of_metric(profiles, "user"), waited = run::value_of_metric(profiles, "waited_for_core"),
             blocked = run::value_of_metric(profiles, "blocked");
  const bool has_samples = profiles.samples_stride() > 0;
  run::for_each_iteration(profiles.loop(),
                          [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
                            const double value = user ? user(i, cluster, row) : 0;
                            if (i < 0 || !std::isfinite(value)) return;
                            const auto choice = chosen(static_cast<std::size_t>(i));
                            if (!choice) return;
                            const bool is_chosen = *choice;
                            of.all.user_s[is_chosen] += value;
                            of.all.waited_s[is_chosen] += waited(i, cluster, row);
                            of.all.blocked_s[is_chosen] += blocked(i, cluster, row);
                            ++of.all.iterations[is_chosen];
                            if (is_chosen && cluster >= 0 && static_cast<std::size_t>(cluster) < of.members.size())
                              ++of.members[static_cast<std::size_t>(cluster)];
                            if (const auto* samples = has_samples ? profiles.recorded_samples(i) : nullptr)
                              of.sampled[is_chosen].add(facts.tree, value, *samples);
                          });
  return of;
}

/// How much longer the chosen iterations are than the others, in the time outside of MPI of the longest rank there.
double longest_more_s(const LoopFacts& loop, const Chosen& chosen) {
  Halves halves;
  for (std::size_t v = 0; v < loop.longest_user_s.size(); ++v) {
    const auto is_chosen = chosen(v * static_cast<std::size_t>(loop.stride));
    if (!is_chosen) continue;
    halves.user_s[*is_chosen] += loop.longest_user_s[v];
    ++halves.iterations[*is_chosen];
  }
  return halves.more_s();
}

bool is_within(const analysis::CallTree& tree, std::uint32_t node, std::uint32_t caller) {
  while (node != 0 && node != caller) node = static_cast<std::uint32_t>(tree.nodes[node].parent);
  return node == caller;
}

/// The difference of the innermost function that still has nearly all of the given difference.
template <class More>
const analysis::ClusterDifference& innermost_of(const analysis::CallTree& tree,
                                                const std::vector<analysis::ClusterDifference>& differences,
                                                const analysis::ClusterDifference& of, const More& more) {
  constexpr double nearly_all = 0.9;
  const analysis::ClusterDifference* innermost = &of;
  for (const analysis::ClusterDifference& next : differences)
    if (next.metric == "time" && next.node != 0 && is_within(tree, next.node, innermost->node) &&
        more(next) >= nearly_all * more(of))
      innermost = &next;
  return *innermost;
}

OffCpu off_cpu_of(std::string_view name) {
  return name == run::waited_name       ? OffCpu::WaitedForCore
         : name == run::blocked_name    ? OffCpu::Blocked
         : name == run::not_on_cpu_name ? OffCpu::Unknown
                                        : OffCpu::No;
}

}  // namespace

Cause blame(const Facts& facts, const LoopFacts& loop, double excess_s, const Chosen& chosen,
            std::optional<std::size_t> of_rank) {
  constexpr double most_of_it = 0.5;
  std::optional<OfRank> most;
  std::size_t at = 0;
  double least_s = 0;
  // Each rank is read again.
  constexpr std::int64_t most_read = most_iterations_read / 4;
  const auto ranks = static_cast<std::int64_t>(loop.ranks.size());
  const std::int64_t step = std::max<std::int64_t>(std::min(loop.iterations_to_read, most_read) * ranks / most_read, 1);
  for (std::int64_t r = static_cast<std::int64_t>(of_rank.value_or(0)); r < ranks; r += of_rank ? ranks : step) {
    const auto open = facts.open(loop.ranks[static_cast<std::size_t>(r)]);
    if (!open) continue;
    OfRank of = compare(facts, *open->profiles, chosen);
    least_s = most ? std::min(least_s, of.all.more_s()) : of.all.more_s();
    if (most && of.all.more_s() <= most->all.more_s()) continue;
    most = std::move(of);
    at = static_cast<std::size_t>(r);
  }
  if (!most) return {};
  const auto open = facts.open(loop.ranks[at]);
  if (!open) return {};
  const double more_s = most->all.more_s();
  Cause cause;
  // If the other ranks have at least half of the excess, too, it is on all ranks.
  const bool is_of_all_ranks = least_s > more_s / 2;
  if (loop.has_all_ranks && (step == 1 || of_rank) && !is_of_all_ranks && facts.first_threads().size() > 1)
    cause.ranks = Ranks({loop.ranks[at].rank});
  // Otherwise the time is in MPI, and the extra time of user code does not explain it.
  const bool is_user = more_s > 0 && (excess_s <= 0 || longest_more_s(loop, chosen) >= most_of_it * excess_s);
  if (more_s < most_of_it * excess_s) {  // now one rank has it, now another
    if (step > 1) return {};             // or a rank that was not looked at
    cause.ranks = {};
    cause.is_in_turn = is_user && !is_of_all_ranks && loop.ranks.size() > 1;
  }
  if (is_user) {
    // Counted time off the CPU explains more than samples, which a thread has only while it runs. It is NaN if it was
    // not counted.
    const double waited_s = most->all.more(most->all.waited_s), blocked_s = most->all.more(most->all.blocked_s);
    if (std::max(waited_s, blocked_s) > most_of_it * more_s) {
      cause.off_cpu = waited_s > blocked_s ? OffCpu::WaitedForCore : OffCpu::Blocked;
      return cause;
    }
    if (const std::uint32_t node = node_of_difference(facts.tree, most->sampled[1], most->sampled[0], more_s);
        node != 0) {
      cause.path = path_to(facts.tree, node);
      cause.is_user = true;
      return cause;
    }
  }
  // A cluster that holds other iterations, too, shows less than the full difference: differences are compared with each
  // other. A function explains more than the fact that the thread was not on a CPU.
  const auto differences = analysis::differences_of(*open->profiles, facts.tree, most->members);
  double largest_s = 0;
  const auto more = [](const analysis::ClusterDifference& of) { return of.cluster_mean - of.loop_mean; };
  for (const auto& of : differences)
    if (of.metric == "time" && of.node != 0) largest_s = std::max(largest_s, more(of));
  const std::pair<run::PathKind, double> of_user[] = {{run::PathKind::User, 0.25}, {run::PathKind::Other, 0.5}},
                                         of_mpi[] = {{run::PathKind::Mpi, 1}};
  for (const auto& [kind, part] : is_user ? std::span<const std::pair<run::PathKind, double>>(of_user)
                                          : std::span<const std::pair<run::PathKind, double>>(of_mpi))
    for (const auto& of : differences) {
      const analysis::TreeNode& node = facts.tree.nodes[of.node];
      if (of.metric != "time" || of.node == 0 || node.kind != kind || !(more(of) > 0) || more(of) < part * largest_s)
        continue;
      if (kind == run::PathKind::Other) {
        cause.off_cpu = off_cpu_of(node.name);
        if (cause.off_cpu == OffCpu::No) continue;
        return cause;
      }
      cause.is_user = kind == run::PathKind::User;
      if (!cause.is_user) cause.ranks = {}, cause.is_in_turn = false;  // an MPI path does not tell who causes the wait
      cause.path = path_to(facts.tree, innermost_of(facts.tree, differences, of, more).node);
      return cause;
    }
  return {};
}

}  // namespace refrain::findings

#pragma once
/// A pass over the locations of a loop, several ranks at a time, and the limits of what is read.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/experiment/rank_pass.hpp"
#include "offline/explorer/own_values.hpp"
#include "offline/explorer/pattern_sources.hpp"
#include "offline/report/loop_view.hpp"
#include "offline/run/iterations.hpp"

namespace refrain::explorer {

/// Maximum number of locations where the call paths of single iterations are reconstructed. This takes some
/// milliseconds per location, because the pools of its iterations are found (offline/run/user_shares.hpp).
inline constexpr std::size_t most_reconstructed_locations = 64;
/// Maximum number of loops; others are left out.
inline constexpr std::size_t most_loops = 8;
/// Maximum number of values of whole iterations, or of call paths in them: they take about a second.
inline constexpr std::int64_t most_single_values = std::int64_t{1} << 22;

/// Input from which the loops of an experiment are shown.
struct LoopInput {
  std::shared_ptr<const experiment::Experiment> experiment;
  const analysis::CallTree& tree;
  const run::Nodes& nodes;
  const OwnValues& own;
  const report::LoopView& view;
  std::vector<PatternSource> patterns;                            ///< metrics of iterations beside those of the loops
  std::function<std::size_t(const run::LoopPlace& of)> place_of;  ///< index in Run::places
  std::size_t bytes = 0;                                          ///< maximum size of all data
  std::size_t places = 0;                                         ///< size of Run::places
  std::size_t unit_values = 0;   ///< maximum number of values by place of the classes and iterations of a loop
  std::size_t asked_for = 0;     ///< number of metrics that the user requested
  std::int64_t path_values = 0;  ///< Request::path_values
};

/// Number of loops that are shown; at least 1.
inline std::size_t shown_loops(const report::LoopView& view) {
  return std::clamp<std::size_t>(view.groups.size(), 1, most_loops);
}

/// Approximate number of metrics with a value at a call path: the time and counts that most have, and requested ones.
inline std::size_t metrics_at(const analysis::TreeNode& node, std::size_t asked_for) {
  constexpr std::size_t of_mpi = 4, of_others = 2;
  if (!(node.exclusive_s > 0) && node.exclusive.all_zero()) return 0;
  return (node.kind == run::PathKind::Mpi ? of_mpi : of_others) + asked_for;
}

/// Whether the loop has so few values that each metric may have a pass over them.
inline bool is_small(const report::LoopGroup& group) {
  return group.iterations * static_cast<std::int64_t>(group.locations.size()) <= most_single_values;
}
/// Whether every location is reconstructed.
inline bool has_few_locations(const report::LoopGroup& group) {
  return group.locations.size() <= most_reconstructed_locations;
}

/// Calls `take` with each iteration in which the location had a thread.
template <class Take>
void for_each_present(const run::OpenLoop& open, const Take& take) {
  run::for_each_iteration(open.loop(), [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
    if (!open.was_absent(cluster, row)) take(i, cluster, row);
  });
}

/// Makes a result for each rank, beginning with `empty`. `step(number, open, made)` adds the location with this number
/// in the group to the result `made`; several threads call it at a time. `use(made)` takes the results one after the
/// other. `wanted`: only these locations; empty: all. `bytes_of_rank`: approximate size of a result.
template <class Made, class Step, class Use>
void for_each_rank_of(const LoopInput& input, const report::LoopGroup& group, const std::vector<bool>& wanted,
                      experiment::Depth depth, std::size_t bytes_of_rank, const Made& empty, const Step& step,
                      const Use& use) {
  // For each thread one rank in work and eight results that wait to be used (rank_pass.hpp).
  constexpr std::size_t most_bytes = std::size_t{384} << 20, ranks_of_thread = 9;
  const auto is_wanted = [&](std::size_t number) { return wanted.empty() || wanted[number]; };
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < group.locations.size(); ++i)
    if (const std::size_t place = group.locations[i].place; is_wanted(i) && (places.empty() || places.back() != place))
      places.push_back(place);
  const experiment::Experiment& all = *input.experiment;
  const auto make = [&](const experiment::RankHandle& rank) {
    Made made = empty;
    if (!rank) return made;
    const auto of_rank = std::ranges::equal_range(group.locations, rank->rank, {}, &run::LoopPlace::rank);
    for (auto at = of_rank.begin(); at != of_rank.end(); ++at) {
      const auto number = static_cast<std::size_t>(at - group.locations.begin());
      if (!is_wanted(number)) continue;
      if (const auto open = run::open_loop(all, rank, *at)) step(number, *open, made);
    }
    return made;
  };
  make_and_use(all, places, depth, most_bytes / ranks_of_thread / std::max<std::size_t>(bytes_of_rank, 1), make, use);
}

}  // namespace refrain::explorer

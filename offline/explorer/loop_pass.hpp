#pragma once
/// A pass over the locations of a loop, several ranks at a time, and the bounds of what is looked at.

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

/// The call paths of single iterations are reconstructed at so many locations. It takes some milliseconds at each, as
/// the pools of its iterations are found (offline/run/user_shares.hpp).
inline constexpr std::size_t most_reconstructed_locations = 64;
/// Loops beyond these are left out.
inline constexpr std::size_t most_loops = 8;
/// Values of whole iterations, or of call paths in them: they take about a second.
inline constexpr std::int64_t most_single_values = std::int64_t{1} << 22;

/// What the loops of an experiment are shown from.
struct LoopInput {
  std::shared_ptr<const experiment::Experiment> experiment;
  const analysis::CallTree& tree;
  const run::Nodes& nodes;
  const OwnValues& own;
  const report::LoopView& view;
  std::vector<PatternSource> patterns;                            ///< metrics of iterations beside those of the loops
  std::function<std::size_t(const run::LoopPlace& of)> place_of;  ///< in Run::places
  std::size_t bytes = 0;                                          ///< that all data may take
  std::size_t places = 0;                                         ///< of values by place
  std::size_t unit_values = 0;   ///< by place: that classes and iterations of each loop may have
  std::size_t asked_for = 0;     ///< metrics that the user has asked for
  std::int64_t path_values = 0;  ///< Request::path_values
};

/// How many loops are shown; 1 of none.
inline std::size_t shown_loops(const report::LoopView& view) {
  return std::clamp<std::size_t>(view.groups.size(), 1, most_loops);
}

/// About how many metrics have a value at a call path: time and counts that most have, and what was asked for.
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

/// Calls `take` with the iterations that the location had a thread in.
template <class Take>
void for_each_present(const run::OpenLoop& open, const Take& take) {
  run::for_each_iteration(open.loop(), [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
    if (!open.was_absent(cluster, row)) take(i, cluster, row);
  });
}

/// `step(number, open, made)` adds a location, its number among the group's, to what is made of its rank, which begins
/// as `empty`; several threads call it at a time. `use(made)` takes what is made of each rank, one after the other.
/// `wanted`: only these locations; empty: all. `bytes_of_rank`: about as much is made of each rank.
template <class Made, class Step, class Use>
void for_each_rank_of(const LoopInput& input, const report::LoopGroup& group, const std::vector<bool>& wanted,
                      experiment::Depth depth, std::size_t bytes_of_rank, const Made& empty, const Step& step,
                      const Use& use) {
  // A rank in work and eight that wait to be used, for each thread (rank_pass.hpp).
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

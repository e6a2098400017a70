#pragma once
/// How the user time of every iteration of a loop of one location is divided, as user_shares.hpp finds it. It is a
/// plain value, so it can be kept (loop_pools.hpp): kept pools give the same results as new ones, to the last bit.
///
/// The error of a share p is sqrt(p (1 - p) / n), n being the number of samples of the pool, and at least 1 / n: a path
/// that no sample hit has a share below 3 / n with 95 % probability. The variance of the shares of the pool's
/// iterations is added to its square if their samples show more than chance. A gradual change gains too little for a
/// split, and iterations with few samples do not show it. So if the quarters of a pool, by number or by user
/// time, differ by more than chance, the error is the standard deviation beyond chance, if that is larger.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "offline/experiment/packed.hpp"
#include "offline/run/share_tree.hpp"

namespace refrain::run {

struct SharePools {
  struct Iteration {
    std::int32_t cluster = 0;
    bool kept = false;  ///< its samples were kept
    ShareVariables variables;
    double least_on_cpu = 0, most_on_cpu = 0, cpu = 0;  ///< certain bounds of user time on a CPU; all CPU time
    double user_ticks = 0, mpi_ticks = 0;
  };
  struct Pool {
    double samples = 0;                    ///< n; 0: nothing is known
    std::vector<ShareTree::Share> shares;  ///< ascending by path; they add up to 1
    double without_path = 0;               ///< part of the time on a CPU that has no call path
    double cpu_part = 0;                   ///< part of the range from least_on_cpu to most_on_cpu
    std::size_t number = 0;                ///< index in SharePools::pools

    /// The error of a share, or of a sum of shares whose spreads are added up in `spread`.
    double error_of(double share, const ShareSpread& spread) const;
    /// Time on a CPU of an iteration of this pool.
    double on_cpu(const Iteration& of) const;
  };
  /// Iterations in one leaf of a tree whose classes exclude the same call paths.
  struct Place {
    std::size_t leaf = 0, exclusion = 0;
    auto operator<=>(const Place&) const = default;
  };
  using ClusterAndPlace = std::pair<std::int32_t, Place>;
  /// Classes of iterations that share a tree. The maps give numbers of pools.
  struct Group {
    ShareSplits splits;
    std::map<Place, std::size_t> pool_of_place;           ///< places where iterations were weighed
    std::size_t pool_of_rest = 0;                         ///< the pool of the exact sums
    std::map<ClusterAndPlace, std::size_t> pool_of_part;  ///< own pools of iterations without kept samples
  };
  struct OfCluster {
    std::size_t group = 0, exclusion = 0;
  };

  std::vector<OfCluster> clusters;
  std::vector<Group> groups;
  std::vector<Pool> pools;

  bool has(std::int32_t cluster) const { return cluster >= 0 && static_cast<std::size_t>(cluster) < clusters.size(); }
  /// The place of an iteration, whose cluster must exist.
  Place place_of(const Iteration& of) const;
  /// The pool of an iteration; null: its cluster does not exist. An iteration that was not weighed may get the pool of
  /// all exact sums of its group.
  const Pool* pool_of(const Iteration& of) const;
  /// Whether all numbers of groups, pools and call paths are in range, whatever was read. `paths`: number of call
  /// paths.
  bool is_sound(std::size_t paths) const;
};

// The parts that are kept (packed.hpp).
template <class Io, experiment::Is<ShareSpread> T>
void describe(Io& io, T& of) {
  io(of.quarters, of.variance, of.variance_of_one);
}
template <class Io, experiment::Is<ShareTree::Share> T>
void describe(Io& io, T& of) {
  io(of.path, of.share, of.spread);
}
template <class Io, experiment::Is<ShareSplits::Node> T>
void describe(Io& io, T& of) {
  io(of.variable, of.most, of.children, of.leaf);
}
template <class Io, experiment::Is<SharePools::Pool> T>
void describe(Io& io, T& of) {
  io(of.samples, of.shares, of.without_path, of.cpu_part, of.number);
}
template <class Io, experiment::Is<SharePools::Place> T>
void describe(Io& io, T& of) {
  io(of.leaf, of.exclusion);
}
template <class Io, experiment::Is<SharePools::Group> T>
void describe(Io& io, T& of) {
  io(of.splits.nodes, of.pool_of_place, of.pool_of_rest, of.pool_of_part);
}
template <class Io, experiment::Is<SharePools::OfCluster> T>
void describe(Io& io, T& of) {
  io(of.group, of.exclusion);
}
template <class Io, experiment::Is<SharePools> T>
void describe(Io& io, T& of) {
  io(of.clusters, of.groups, of.pools);
}

}  // namespace refrain::run

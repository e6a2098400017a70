#pragma once
/// How the user time of every iteration of a loop of one location is divided, as user_shares.hpp finds it. It is a
/// plain value, so it can be kept (loop_pools.hpp): what was read says the same as what was found, to the last bit.
///
/// The error of a share p is sqrt(p (1 - p) / n), n being the samples of the pool; and 1 / n at least: a path that no
/// sample hit has less than 3 / n with 95 % probability. Added to its square is the variance of the shares of the
/// pool's iterations, where their samples show more than chance. What changes little by little gains too little for a
/// split, and iterations of few samples do not show it. So where the quarters of a pool, by number or by user time,
/// differ by more than chance, the standard deviation of what is beyond chance is the error, if it is larger.

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
    bool kept = false;  ///< its samples are
    ShareVariables variables;
    double least_on_cpu = 0, most_on_cpu = 0, cpu = 0;  ///< what is certain of the user time; CPU time in all
    double user_ticks = 0, mpi_ticks = 0;
  };
  struct Pool {
    double samples = 0;                    ///< n; 0: nothing is known
    std::vector<ShareTree::Share> shares;  ///< ascending by path; they add up to 1
    double without_path = 0;               ///< part of the time on a CPU that is beside these
    double cpu_part = 0;                   ///< of what is between least_on_cpu and most_on_cpu
    std::size_t number = 0;                ///< in SharePools::pools

    /// Of a share, or of a sum of shares: they are added up, and so is `spread`.
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
  /// Classes of iterations that share a tree. Maps are to numbers of pools.
  struct Group {
    ShareSplits splits;
    std::map<Place, std::size_t> pool_of_place;           ///< places where iterations were weighed
    std::size_t pool_of_rest = 0;                         ///< of the exact sums
    std::map<ClusterAndPlace, std::size_t> pool_of_part;  ///< where those that were not kept have their own
  };
  struct OfCluster {
    std::size_t group = 0, exclusion = 0;
  };

  std::vector<OfCluster> clusters;
  std::vector<Group> groups;
  std::vector<Pool> pools;

  bool has(std::int32_t cluster) const { return cluster >= 0 && static_cast<std::size_t>(cluster) < clusters.size(); }
  /// Of an iteration whose cluster is there.
  Place place_of(const Iteration& of) const;
  /// Null: of a cluster that is not there. An iteration that was not weighed may have all exact sums of its group.
  const Pool* pool_of(const Iteration& of) const;
  /// Whether numbers of groups, pools and call paths are such that there are, whatever was read. `paths`: how many call
  /// paths there are.
  bool is_sound(std::size_t paths) const;
};

// What is kept of it (packed.hpp).
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

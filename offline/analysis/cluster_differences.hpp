#pragma once
/// What sets a cluster of iterations apart from the mean iteration of its loop.

#include <span>
#include <string>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/run/iteration_profile.hpp"

namespace refrain::analysis {

/// One value whose mean in the cluster differs from that of the loop. A time is the inclusive time of a function that
/// does little else than the part that differs; calls are those of an MPI function.
struct ClusterDifference {
  std::uint32_t node = 0;  ///< node of the call tree; 0: the iteration as a whole
  std::string metric;      ///< "wall", "mpi", "bytes_sent" or one that was asked for; of a call path "time" or "calls"
  bool seconds = false;
  double cluster_mean = 0, loop_mean = 0;  ///< per iteration
};

struct ClusterSummary {
  const experiment::Cluster* cluster = nullptr;
  double mean_wall_s = 0, deviation_wall_s = 0, min_wall_s = 0, max_wall_s = 0, mean_mpi_s = 0;
  double share = 0;                            ///< of the wall time of the loop
  std::vector<ClusterDifference> differences;  ///< the most telling first
};

/// One entry per cluster of the loop. `tree`: the call tree of the whole run, made from the same profile.
std::vector<ClusterSummary> summarise_clusters(const run::IterationProfiles& profiles, const CallTree& tree);

/// Differences of some iterations from all others, which take the place of the loop: `members[k]` of them are in the
/// k-th cluster. The iterations of a cluster are taken to be alike. The log of a long loop may have more iterations
/// with a cluster's label than the cluster has members (run/iterations.hpp): then all members are meant.
std::vector<ClusterDifference> differences_of(const run::IterationProfiles& profiles, const CallTree& tree,
                                              std::span<const double> members);

}  // namespace refrain::analysis

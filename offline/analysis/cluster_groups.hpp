#pragma once
/// Groups of clusters for people: clusters are merged until the groups differ by more than they scatter. A cluster that
/// holds iterations of quite different times, because there was no room for more clusters, is cut first: the times of
/// single iterations are known.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "offline/analysis/cluster_differences.hpp"

namespace refrain::analysis {

struct ClusterGroup {
  std::vector<std::size_t> clusters;  ///< indices in Loop::clusters, ascending; also of a cluster that is here in part
  bool is_rest = false;               ///< small clusters that differ from each other
  double members = 0;
  double mean_wall_s = 0, deviation_wall_s = 0, mean_mpi_s = 0;
  double share = 0;  ///< of the wall time of the loop

  /// Where its iterations lie in the loop.
  struct When {
    enum Kind : std::uint8_t { Always, Blocks, Regular, Scattered } kind = Scattered;
    struct Block {
      std::int64_t first, last;
    };
    std::vector<Block> blocks;  ///< Blocks: at most four, which hold nearly all; other kinds: the whole extent
    std::int64_t period = 0;    ///< of Regular
  } when;
  std::vector<ClusterDifference> differences;  ///< from all other iterations
};

/// Largest share first. Reads the log of the loop.
std::vector<ClusterGroup> group_clusters(const run::IterationProfiles& profiles, const CallTree& tree);

}  // namespace refrain::analysis

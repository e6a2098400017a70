#pragma once
/// Estimates what a location did in some of its iterations, by call path, from what its clusters did: each cluster
/// counts with the share of its members that are among these iterations. Then MPI and user code are each scaled to the
/// exact time that these iterations have of them. Nothing is reconstructed; run time is proportional to clusters times
/// their call paths.
///
/// Pure: the caller provides the values of clusters by call path.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "offline/explorer/own_values.hpp"

namespace refrain::explorer {

/// Sets of iterations ("units") of one loop of one location, which may overlap.
class ClusterMixture {
 public:
  ClusterMixture(std::size_t clusters, std::size_t units)
      : units_(units), members_(clusters), in_unit_(clusters * units), exact_(units) {}
  /// Adds an iteration that has a cluster. To be called once for each.
  void add(std::int32_t cluster) { ++members_[static_cast<std::size_t>(cluster)]; }
  /// Puts an iteration of the cluster into a unit, with its times in seconds; NaN: not known.
  void put(std::int32_t cluster, std::size_t unit, double mpi, double user);

  /// The time that a metric is part of and is scaled with.
  enum class Part : std::uint8_t { Other, Mpi, User };
  struct Value {
    std::size_t unit;
    OwnValue own;
  };
  struct Result {
    std::vector<Value> values;
    std::vector<bool> is_estimated;  ///< by unit: only a part of some cluster is in it
  };
  /// `values_of(cluster)`: sums of a cluster; empty where they are not known. `part_of`: by metric. `nodes`: number of
  /// nodes.
  Result values(const std::function<std::vector<OwnValue>(std::size_t cluster)>& values_of,
                std::span<const Part> part_of, std::size_t nodes) const;

 private:
  struct Times {
    double mpi = 0, user = 0;
  };
  std::size_t units_;
  std::vector<std::int64_t> members_;  ///< by cluster
  std::vector<std::int64_t> in_unit_;  ///< by cluster and unit
  std::vector<Times> exact_;           ///< by unit
};

}  // namespace refrain::explorer

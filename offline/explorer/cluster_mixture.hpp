#pragma once
/// What a location did in some of its iterations, by call path, from what its clusters did: of each cluster the part
/// that these iterations are of it, and then MPI and user code each scaled to the time that these iterations have of
/// them, which is exact. Nothing is reconstructed; time in proportion to clusters times their call paths.
///
/// Pure: of clusters it gets values by call path.

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
  /// Each iteration with a cluster, once.
  void add(std::int32_t cluster) { ++members_[static_cast<std::size_t>(cluster)]; }
  /// That it is in a unit, with its times in seconds; not a number: not known.
  void put(std::int32_t cluster, std::size_t unit, double mpi, double user);

  /// A time is scaled as what it is a part of.
  enum class Part : std::uint8_t { Other, Mpi, User };
  struct Value {
    std::size_t unit;
    OwnValue own;
  };
  struct Result {
    std::vector<Value> values;
    std::vector<bool> is_estimated;  ///< by unit: a cluster is not in it as a whole
  };
  /// `values_of(cluster)`: the sums of a cluster; empty where they are not known. `part_of`: by metric. `nodes`: how
  /// many there are.
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

#pragma once
/// Declarations shared by iteration_profile.cpp, mpi_columns.cpp and iteration_selection.cpp.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "offline/run/iteration_profile.hpp"

namespace refrain::run {

/// The data from which the MPI call paths of the iterations of one cluster are reconstructed.
struct IterationProfiles::Model {
  std::array<std::int64_t, region_columns> overall_sum{};  ///< sum over the members
  std::array<std::int64_t, region_columns> path_sum{};     ///< sum over the call paths; less where paths were lost
  std::array<int, region_columns> second{};                ///< the second total that a column scales with; < 0: none
  struct Region {
    std::uint32_t path;
    std::array<std::int64_t, region_columns> sum;
    std::array<float, region_columns> slope, second_slope;
  };
  std::vector<Region> regions;  ///< in the order of the cluster's rows
};

namespace iteration_values {

inline std::int64_t to_count(double value) {
  return value > 0 ? static_cast<std::int64_t>(std::min(value + 0.5, 9e18)) : 0;
}

/// Computes integers in proportion to `values` that add up to `total`. Fractions matter: small counts differ only by
/// them. `room` is reused from call to call.
void round_to_total(std::int64_t total, std::span<const double> values, std::vector<std::int64_t>& out,
                    std::vector<format::Remainder>& room);

}  // namespace iteration_values

}  // namespace refrain::run

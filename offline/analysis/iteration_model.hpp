#pragma once
/// What iteration_profile.cpp and iteration_selection.cpp share.

#include "offline/analysis/iteration_profile.hpp"

namespace refrain::analysis {

/// What reconstructing the MPI call paths of the iterations of one cluster takes.
struct IterationProfiles::Model {
  std::array<std::int64_t, region_columns> overall_sum{};  ///< of the members
  std::array<std::int64_t, region_columns> path_sum{};     ///< over the call paths; less where paths were lost
  std::array<int, region_columns> second{};                ///< the second total that a column follows; -1: none
  struct Region {
    std::uint32_t path;
    std::array<std::int64_t, region_columns> sum;
    std::array<float, region_columns> slope, second_slope;
  };
  std::vector<Region> regions;
};

}  // namespace refrain::analysis

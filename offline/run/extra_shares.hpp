#pragma once
/// The metrics that the user has asked for beside the time: what call paths have of them in a leaf unit.
///
/// The total of a unit is exact, and so is what passed inside each MPI function. The rest is the unit's user code; it
/// is shared among the sampled call paths in proportion to what ticks have found there, or where they have found
/// nothing, to the weights of the ticks. Everything adds up to the total.

#include <cstdint>
#include <span>
#include <vector>

#include "offline/experiment/profile.hpp"

namespace refrain::run {

struct PathValue {
  std::uint32_t path;
  std::int64_t value;
};

struct ExtraShares {
  std::int64_t total = 0;
  std::vector<PathValue> mpi_paths, user_paths;
  std::int64_t no_path = 0;  ///< in user code, but there is no tick that says where
};

ExtraShares share_extra(const experiment::Unit& unit, std::span<const experiment::CallPath> paths, std::size_t metric);

}  // namespace refrain::run

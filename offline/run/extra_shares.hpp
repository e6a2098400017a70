#pragma once
/// Divides the metrics of REFRAIN_METRICS among the call paths of a leaf unit.
///
/// The total of a unit is exact, and so are the values inside each MPI function. The rest belongs to user code; it is
/// shared among the sampled call paths in proportion to what ticks have found there, or to the weights of the ticks if
/// they have found nothing. Everything adds up to the total.

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
  std::int64_t no_path = 0;  ///< in user code, but no tick says where
};

ExtraShares share_extra(const experiment::Unit& unit, std::span<const experiment::CallPath> paths, std::size_t metric);

}  // namespace refrain::run

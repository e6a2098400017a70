#pragma once
/// Divides the user time of a sequence's iterations with the report's function (offline/run/user_shares.hpp) and
/// compares the result with the true time.

#include <cstdint>
#include <functional>
#include <span>

#include "bench/clustering/sequence.hpp"

namespace refrain::bench {

struct SharesResult {
  double wrong = 0;   ///< sum over iterations and call paths of |divided - true| / sum of true
  double within = 1;  ///< share of the rows, one for each iteration and call path, that are within 3 errors
  std::size_t pools = 0;
};

/// `cluster_of` is indexed by iteration, `class_of` by cluster. `kept`: whether the samples of an iteration are known.
SharesResult divide_user_time(const Sequence& sequence, std::span<const std::uint32_t> cluster_of,
                              std::span<const std::uint32_t> class_of, const std::function<bool(std::size_t)>& kept);

}  // namespace refrain::bench

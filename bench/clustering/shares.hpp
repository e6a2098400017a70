#pragma once
/// Divides the user time of a sequence's iterations among call paths, as reports do (offline/run/user_shares.hpp), and
/// compares the result with the true times.

#include <cstdint>
#include <functional>
#include <span>

#include "bench/clustering/sequence.hpp"

namespace refrain::bench {

struct SharesResult {
  double wrong = 0;   ///< sum of |divided - true| over iterations and call paths, divided by the sum of the true times
  double within = 1;  ///< share of the rows within 3 errors of the truth; each iteration and call path has a row
  std::size_t pools = 0;
};

/// `cluster_of` is indexed by iteration, `class_of` by cluster. `kept` tells whether the samples of an iteration are
/// known.
SharesResult divide_user_time(const Sequence& sequence, std::span<const std::uint32_t> cluster_of,
                              std::span<const std::uint32_t> class_of, const std::function<bool(std::size_t)>& kept);

}  // namespace refrain::bench

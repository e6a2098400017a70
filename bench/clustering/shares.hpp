#pragma once
/// User time of the iterations of a sequence, divided by the function that the report divides it with
/// (offline/run/user_shares.hpp), against the time that was really spent.

#include <cstdint>
#include <functional>
#include <span>

#include "bench/clustering/sequence.hpp"

namespace refrain::bench {

struct SharesResult {
  double wrong = 0;   ///< sum over iterations and call paths of |divided - true| / sum of true
  double within = 1;  ///< part of the rows, one for each iteration and call path, that are within 3 errors
  std::size_t pools = 0;
};

/// `cluster_of` by iteration, `class_of` by cluster. `kept`: the samples of the iteration are known.
SharesResult divide_user_time(const Sequence& sequence, std::span<const std::uint32_t> cluster_of,
                              std::span<const std::uint32_t> class_of, const std::function<bool(std::size_t)>& kept);

}  // namespace refrain::bench

#pragma once
/// Sums of numbers that may be damaged or invented.

#include <cstdint>
#include <limits>

namespace refrain::format {

/// a + b, limited to the ends of the range instead of overflowing.
constexpr std::int64_t add_saturating(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

}  // namespace refrain::format

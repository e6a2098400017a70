#pragma once
/// Which iterations are kept when there is no room for all of them: one in each aligned block of 2^level.
///
/// Every 2^level-th one would be wrong for programs that do something every second, tenth or sixteenth step: it is then
/// in all iterations that are kept, or in none. So each bit of the number is chosen by a hash of the bits above it:
/// iteration n is kept at level s when for all j < s bit j of n is hash(seed, j, n >> (j + 1)) & 1. That is exactly one
/// in each block, and what is kept at a level is kept at all lower ones, so going up drops one of two and needs no
/// list.
///
/// The seed is a constant: ranks keep the same iterations without talking to each other, and so do two runs that are
/// compared. Nobody writes a program against it, so chance from elsewhere would gain nothing. It is in the file, so
/// that another one may be taken later.
///
/// Async-signal-safe, plain arithmetic.

#include <cstdint>

#include "format/hashing.hpp"

namespace refrain::format {

inline constexpr std::uint64_t kept_iterations_seed = 0x5265667261696e;
inline constexpr unsigned highest_level = 48;  ///< of what a file may say

struct KeptIterations {
  unsigned level = 0;
  std::uint64_t seed = kept_iterations_seed;
  bool hashed = true;  ///< false, files before 1.4: the first one of each block

  std::uint64_t stride() const { return std::uint64_t{1} << level; }
  /// Bit `j` of the iteration whose bits above it are `above`.
  std::uint64_t bit(unsigned j, std::uint64_t above) const {
    return hashed ? mixed(above ^ mixed(seed ^ mixed(j))) & 1 : 0;
  }
  bool has(std::uint64_t n) const {
    for (unsigned j = level; j-- > 0;)
      if ((n >> j & 1) != bit(j, n >> (j + 1))) return false;
    return true;
  }
  /// Whether it comes before one that is kept, of those one of 2^sparse, chosen by a further hash.
  bool precedes(std::uint64_t n, unsigned sparse) const {
    const std::uint64_t which = mixed((n + 1) ^ mixed(seed ^ mixed(highest_level)));
    return (which & ((std::uint64_t{1} << sparse) - 1)) == 0 && has(n + 1);
  }
  /// The one that is kept of the iterations from block * 2^level on.
  std::uint64_t in_block(std::uint64_t block) const {
    for (unsigned j = level; j-- > 0;) block = block << 1 | bit(j, block);
    return block;
  }
};

}  // namespace refrain::format

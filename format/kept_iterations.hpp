#pragma once
/// Chooses the iterations that are kept when there is no room for all of them: one in each aligned block of 2^level.
///
/// Every 2^level-th iteration would be wrong for programs that do something every second, tenth or sixteenth step,
/// which would be in all kept iterations or in none. So a hash of the higher bits chooses each bit of the number:
/// iteration n is kept at level s if for all j < s bit j of n is hash(seed, j, n >> (j + 1)) & 1. That is exactly one
/// iteration in each block, and an iteration that is kept at one level is kept at all lower ones. So raising the level
/// drops one of two and needs no list.
///
/// The seed is a constant, so that ranks, and two runs that are compared, keep the same iterations without
/// communication. No program is written against it, so real randomness would gain nothing. It is stored in the file, so
/// that another one may be used later.
///
/// Async-signal-safe, plain arithmetic.

#include <cstdint>

#include "format/hashing.hpp"

namespace refrain::format {

inline constexpr std::uint64_t kept_iterations_seed = 0x5265667261696e;
inline constexpr unsigned highest_level = 48;  ///< the highest that a file may have

struct KeptIterations {
  unsigned level = 0;
  std::uint64_t seed = kept_iterations_seed;
  bool hashed = true;  ///< false in files before 1.4: the first of each block is kept

  std::uint64_t stride() const { return std::uint64_t{1} << level; }
  /// Bit `j` of a kept iteration whose higher bits are `above`.
  std::uint64_t bit(unsigned j, std::uint64_t above) const {
    return hashed ? mixed(above ^ mixed(seed ^ mixed(j))) & 1 : 0;
  }
  bool has(std::uint64_t n) const {
    for (unsigned j = level; j-- > 0;)
      if ((n >> j & 1) != bit(j, n >> (j + 1))) return false;
    return true;
  }
  /// Whether the iteration after n is kept and is one of those, one of 2^sparse by a further hash, before which n is
  /// kept, too.
  bool precedes(std::uint64_t n, unsigned sparse) const {
    const std::uint64_t which = mixed((n + 1) ^ mixed(seed ^ mixed(highest_level)));
    return (which & ((std::uint64_t{1} << sparse) - 1)) == 0 && has(n + 1);
  }
  /// The kept iteration among the 2^level from block * 2^level on.
  std::uint64_t in_block(std::uint64_t block) const {
    for (unsigned j = level; j-- > 0;) block = block << 1 | bit(j, block);
    return block;
  }
};

}  // namespace refrain::format

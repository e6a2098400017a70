#pragma once
/// Spreads integers over 64 bits.

#include <cstdint>

namespace refrain::format {

/// Spreads into the upper bits only; one multiplication (Knuth).
inline std::uint64_t spread(std::uint32_t x) { return (std::uint64_t{x} + 1) * 0x9e3779b97f4a7c15; }

/// Mixes all bits (the finalizer of splitmix64, Steele et al. 2014).
inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace refrain::format

#pragma once
/// The checksum of the profile file: XXH3 with 64 bits and seed 0. For both halves.

#define XXH_INLINE_ALL
#include <cstddef>
#include <cstdint>
#include <xxhash.h>

namespace refrain::format {

inline std::uint64_t checksum(const void* data, std::size_t size) { return XXH3_64bits(data, size); }

}  // namespace refrain::format

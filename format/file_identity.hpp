#pragma once
/// Replaces the build-id of a module that has none: a mark, and a checksum over the size of its file and over 64 pieces
/// of it, from the first to the last. If functions have moved, tables and code change all over the file. For both
/// halves.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "format/checksum.hpp"

namespace refrain::format {

inline constexpr std::uint8_t file_identity_mark[] = {0, 'f', 'i', 'l', 'e'};
inline constexpr std::size_t file_identity_size = sizeof file_identity_mark + sizeof(std::uint64_t);

/// Writes the mark and `sum`.
inline void put_file_identity(std::uint64_t sum, std::uint8_t (&identity)[file_identity_size]) {
  std::copy(std::begin(file_identity_mark), std::end(file_identity_mark), identity);
  for (unsigned i = 0; i < sizeof sum; ++i)
    identity[sizeof file_identity_mark + i] = static_cast<std::uint8_t>(sum >> (8 * i));
}

/// Computes the identity of a file. `read(offset, bytes, size)` reads a piece of it. False: it could not.
template <class Read>
bool identify_file(std::uint64_t size, Read&& read, std::uint8_t (&identity)[file_identity_size]) {
  constexpr std::uint64_t pieces = 64, piece = 4096;
  std::byte bytes[piece];
  std::uint64_t sum = checksum(&size, sizeof size);
  const std::uint64_t count = std::min(pieces, (size + piece - 1) / piece);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t last = size > piece ? size - piece : 0;
    const std::uint64_t offset = count > 1 ? last / (count - 1) * i + last % (count - 1) * i / (count - 1) : 0;
    const auto length = static_cast<std::size_t>(std::min(piece, size - offset));
    if (!read(offset, bytes, length)) return false;
    const std::uint64_t both[] = {sum, checksum(bytes, length)};
    sum = checksum(both, sizeof both);
  }
  put_file_identity(sum, identity);
  return true;
}

}  // namespace refrain::format

#pragma once
/// The begin of a file in which tools keep what they have found: 8 bytes that tell its kind, u32 version, u32 size of
/// the head, the head as packed.hpp packs it, and u64 checksum of all before. What the head describes follows.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "offline/experiment/input_file.hpp"

namespace refrain::experiment {

struct KeptKind {
  std::string_view magic;  ///< 8 bytes
  std::uint32_t version = 0, largest_head = 0;
  const char* name = "";  ///< as messages call such a file
};

/// Where the packed head lies in the file.
inline constexpr std::size_t kept_head_at = 16;

struct KeptHead {
  std::vector<std::byte> bytes;  ///< packed
  std::uint64_t end = 0;         ///< of all that was described above
};

/// Throws ReadError, also where the file is of another kind or version.
KeptHead read_kept_head(const InputFile& file, const KeptKind& kind);
/// The begin of a file with this head.
std::string kept_begin(const KeptKind& kind, std::string_view packed_head);

std::uint64_t checksum_of(std::string_view bytes);

}  // namespace refrain::experiment

#pragma once
/// The beginning of a file in which tools keep results: 8 bytes that identify its kind, u32 version, u32 size of the
/// head, the head as packed by packed.hpp, and u64 checksum of all of these. The data that the head describes follow.

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
  const char* name = "";     ///< name of such a file in messages
  std::uint32_t oldest = 0;  ///< oldest version that is still read; 0: only `version`
};

/// Offset of the packed head in the file.
inline constexpr std::size_t kept_head_at = 16;

struct KeptHead {
  std::uint32_t version = 0;
  std::vector<std::byte> bytes;  ///< the packed head
  std::uint64_t end = 0;         ///< offset of the first byte after the checksum
};

/// Reads the head. Throws ReadError, also when the file is of another kind or version.
KeptHead read_kept_head(const InputFile& file, const KeptKind& kind);
/// The beginning of a file with this head.
std::string kept_begin(const KeptKind& kind, std::string_view packed_head);

std::uint64_t checksum_of(std::string_view bytes);

}  // namespace refrain::experiment

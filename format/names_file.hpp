#pragma once
/// The constants of the files of names and of functions of an experiment. docs/file-format.md has the specification.

#include <cstddef>
#include <cstdint>

namespace refrain::format {

/// Built like the magic of the profile file (format/profile_file.hpp).
inline constexpr unsigned char names_magic[8] = {0x89, 'R', 'F', 'N', 'M', '\r', '\n', 0x1a};
inline constexpr std::uint16_t names_major_version = 1;
inline constexpr std::uint16_t names_minor_version = 0;

/// Magic, u32 byte-order mark, u16 major and minor version, u32 size of the header, u32 zero, u64 size of the block
/// behind the header, the checksum of everything before.
inline constexpr std::size_t names_header_size = 40;

/// The name of an executable's table of functions is `functions-` and its build-id, or what replaces that.
inline constexpr const char* functions_name_begin = "functions-";
inline constexpr const char* functions_name_end = ".refrain";

/// Bits of a frame.
inline constexpr std::uint8_t name_is_inlined = 1, name_is_part = 2, name_is_known = 4, name_is_full = 8;

}  // namespace refrain::format

#pragma once
/// The constants of events-<rank>.refrain, shared by writer and reader; docs/file-format.md has the specification.
///
/// A frame: u32 magic, u16 version, u16 encoding, i32 thread, u32 records, then what the first record is relative to
/// (i64 time, u64 request, u32 node), u32 checksum of this head, i64 time of the last record, u64 stored size, u64
/// size, the records (events/codec.hpp), the checksum of everything before.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "format/checksum.hpp"

namespace refrain::format {

inline constexpr const char* events_name_begin = "events-";
inline constexpr const char* events_name_end = ".refrain";
inline constexpr std::uint32_t event_magic = 0x56455452;  // "RTEV"
/// Older versions can still be read: 1 had no message numbers, 2 no numbers of collective operations and no readings of
/// metrics, 3 no synchronizations of windows, 4 no time off the CPU in calls.
inline constexpr std::uint16_t event_version = 5;
inline constexpr std::size_t event_head_size = 64, head_checksum_offset = 36;
/// Checksum of all bytes of the head but its own.
inline std::uint32_t head_checksum(std::span<const std::byte, event_head_size> head) {
  std::byte copy[event_head_size];
  std::memcpy(copy, head.data(), sizeof copy);
  std::memset(copy + head_checksum_offset, 0, sizeof(std::uint32_t));
  return static_cast<std::uint32_t>(checksum(copy, sizeof copy));
}
/// A reader refuses larger frames before it unpacks them.
inline constexpr std::uint64_t largest_event_frame = std::uint64_t{1} << 28;

/// Which events were to be kept. The numbers are those of the file.
enum class EventMode : std::uint8_t { Off = 0, All = 1, List = 2, Sampled = 3 };

/// Flags of a message in the section SampledMessages.
struct SampledMessageFlag {
  static constexpr std::uint8_t receive = 1;      ///< it was received, not sent
  static constexpr std::uint8_t completed = 2;    ///< another call than the one that posted it completed the receive
  static constexpr std::uint8_t tags_before = 4;  ///< the channel had more than one tag so far
};

}  // namespace refrain::format

#pragma once
/// The resource usage of a thread, by getrusage.

#include <cstddef>
#include <cstdint>

namespace refrain::platform {

enum class Resource : std::uint8_t {
  UserTime,             ///< ns
  SystemTime,           ///< ns
  MinorFaults,          ///< page faults without reading a disk
  MajorFaults,          ///< page faults that read a disk
  BlocksIn,             ///< 512 bytes each
  BlocksOut,            ///< 512 bytes each
  VoluntarySwitches,    ///< the thread waited
  InvoluntarySwitches,  ///< the kernel took the CPU away
  HighWaterMark,        ///< bytes of memory, of the whole process
};
inline constexpr std::size_t resource_count = 9;

/// Usage of the calling thread since it began; `values` by Resource. About 0.2 us. Preserves errno. Async-signal-safe.
void read_resource_usage(std::int64_t (&values)[resource_count]);

}  // namespace refrain::platform

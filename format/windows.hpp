#pragma once
/// Windows of one-sided operations, and the traffic with their targets.

#include <cstdint>

namespace refrain::format {

enum class WindowKind : std::uint8_t { Created, Allocated, Shared, Dynamic };

/// The traffic of a process's own one-sided operations with one target. An accumulate is a put; an operation that
/// fetches and changes is both.
struct WindowTraffic {
  std::int32_t window;  ///< index in the order of definition in this process
  std::int32_t target;  ///< rank in the window
  std::int64_t puts, bytes_put, gets, bytes_got;
};

}  // namespace refrain::format

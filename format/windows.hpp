#pragma once
/// Windows of one-sided operations and what is counted of them.

#include <cstdint>

namespace refrain::format {

enum class WindowKind : std::uint8_t { Created, Allocated, Shared, Dynamic };

/// What a process has moved by one-sided operations of its own to and from one target. Accumulating puts; an operation
/// that fetches and changes does both.
struct WindowTraffic {
  std::int32_t window;  ///< order of definition in this process
  std::int32_t target;  ///< rank in the window
  std::int64_t puts, bytes_put, gets, bytes_got;
};

}  // namespace refrain::format

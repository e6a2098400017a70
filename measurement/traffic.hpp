#pragma once
/// The bytes that an operation moves.

#include <cstdint>

namespace refrain::measurement {

struct Traffic {
  /// Of a one-sided operation: nothing in this direction. An operation of no bytes is one, too.
  static constexpr std::int64_t none = -1;
  std::int64_t sent = 0;      ///< also put, and written
  std::int64_t received = 0;  ///< also got, and read
};

}  // namespace refrain::measurement

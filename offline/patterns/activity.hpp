#pragma once
/// What a location does between two points in time: the unit of wait causes and of the critical path.

#include <compare>
#include <cstdint>

#include "offline/trace/event.hpp"

namespace refrain::patterns {

/// A call without its waiting, or the computation between two calls.
struct Activity {
  std::uint32_t location = 0;
  bool is_call = false;                   ///< else computation
  std::uint32_t before = trace::no_path;  ///< call path of the call, or of the call before the computation
  std::uint32_t after = trace::no_path;   ///< call path of the call after the computation
  auto operator<=>(const Activity&) const = default;
};

}  // namespace refrain::patterns

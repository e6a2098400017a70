#pragma once
/// A span of a location's time: an iteration of a loop, or time outside of iterations.

#include <cstdint>

#include "measurement/open_call.hpp"

namespace refrain::measurement {

/// What a span was: 0 is outside of iterations, else the loop and the number of the iteration.
enum class SpanOf : std::uint64_t {};
inline constexpr SpanOf outside_of_iterations{0};
constexpr SpanOf iteration_of(RegionId loop, std::uint64_t iteration) {
  return SpanOf{iteration << 16 | static_cast<std::uint64_t>(loop)};
}
constexpr RegionId loop_of_span(SpanOf of) { return RegionId{static_cast<std::uint16_t>(of)}; }
constexpr std::uint64_t iteration_of_span(SpanOf of) { return static_cast<std::uint64_t>(of) >> 16; }

}  // namespace refrain::measurement

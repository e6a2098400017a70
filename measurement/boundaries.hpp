#pragma once
/// When the iterations of the process's first thread began and ended. The other threads are cut at these times.
///
/// Time is a sequence of spans, numbered from 0. A span is one iteration, or the time outside of iterations between
/// two; which of them is known when it ends. The published epoch is the number of the span in progress. The last
/// `kept_spans` spans can be looked up.
///
/// Thread safety: `end_span` is called by the first thread or by the thread that holds it; everything else by any
/// thread, also in handlers.

#include <atomic>
#include <cstdint>

#include "measurement/location.hpp"
#include "platform/hot.hpp"

namespace refrain::measurement {

/// An iteration of a loop: the region of the loop and the number of the iteration in it.
enum class IterationId : std::uint64_t {};
inline constexpr IterationId outside_of_iterations{0};
constexpr IterationId iteration_id(RegionId loop, std::uint64_t number) {
  return IterationId{number << 16 | static_cast<std::uint64_t>(loop)};
}
constexpr RegionId loop_of(IterationId iteration) { return RegionId{static_cast<std::uint16_t>(iteration)}; }
constexpr std::uint64_t iteration_number(IterationId iteration) { return static_cast<std::uint64_t>(iteration) >> 16; }

struct Span {
  platform::Ticks begin;
  platform::Ticks outside;  ///< ticks outside of iterations before `begin`; only differences count
  IterationId iteration;    ///< known once the span has ended
};

inline constexpr std::uint64_t kept_spans = 4096;

REFRAIN_OF_THIS_LIBRARY inline std::atomic<std::uint64_t> published_epoch{0};
/// The epoch at which the followers are to be served next (followers.hpp).
inline std::atomic<std::uint64_t> followers_due{kept_spans / 4};

/// The span with number `index` <= epoch. While it is in progress only `begin` and `outside` are valid.
/// Async-signal-safe.
Span span_at(std::uint64_t index);
/// Whether this span and all later ones were still in the ring, so what span_at() has returned for them is valid.
/// Async-signal-safe.
bool spans_are_kept_since(std::uint64_t index);

/// The span in progress ends at `now`. `iteration`: the iteration that it was, or outside_of_iterations.
void end_span(platform::Ticks now, IterationId iteration);

/// Whether this is the location of the thread with which the process began, whose iterations cut the others.
inline bool is_first_thread(const Location& location) { return location.thread == 0; }

}  // namespace refrain::measurement

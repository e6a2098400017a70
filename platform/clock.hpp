#pragma once
/// The three clocks of the measurement.
///
/// - `now()`: wall time in ticks of the fastest trustworthy counter (13 ns for an invariant TSC against 22 ns for
///   CLOCK_MONOTONIC, docs/performance.md). Unit: Ticks; the frequency is known after the run from two anchors.
/// - `thread_cpu_ns()`: CPU time of the calling thread, nanoseconds. A system call (about 190 ns): at unit boundaries
///   and ticks only, never per MPI call.
/// - `wall_clock_ns()`: nanoseconds since the epoch, for the manifest and for anchors.

#include <cstdint>

#include "platform/clock_counter.hpp"  // the platform's own: inline uint64_t read_counter(), bool counter_is_invariant()
#include "platform/hot.hpp"

namespace refrain::platform {

/// A point in time or a duration, wall time, in ticks of this machine's counter.
using Ticks = std::int64_t;

/// Whether the processor's counter has a constant rate, never stops, and is what the kernel computes its own clock
/// from. Set by `start_clock`.
REFRAIN_OF_THIS_LIBRARY extern bool counter_is_trusted;

std::int64_t monotonic_ns();    // Async-signal-safe.
std::int64_t thread_cpu_ns();   // Async-signal-safe.
std::int64_t process_cpu_ns();  // Async-signal-safe.
std::int64_t wall_clock_ns();   // Async-signal-safe.

/// now() without a call, for when the counter is trusted. Async-signal-safe.
inline Ticks counter_now() { return static_cast<Ticks>(read_counter()); }

/// Async-signal-safe.
inline Ticks now() {
  if (__builtin_expect(counter_is_trusted, 1)) return counter_now();
  return monotonic_ns();
}

/// The same instant on both clocks; two anchors give the frequency of the counter.
struct ClockAnchor {
  Ticks ticks;
  std::int64_t monotonic_ns;
};

/// Chooses the counter. Call it once, before any `now()`.
void start_clock();
ClockAnchor read_anchor();
/// Like `read_anchor`, but by CLOCK_MONOTONIC_RAW, whose rate is never corrected: chrony may slew CLOCK_MONOTONIC by
/// several per cent. If the counter is CLOCK_MONOTONIC, both halves are that clock.
ClockAnchor read_uncorrected_anchor();
/// Ticks per second between two anchors; 1e9 when the counter is CLOCK_MONOTONIC.
double ticks_per_second(const ClockAnchor& first, const ClockAnchor& last);

/// Detects that the counter no longer runs as it did. After a virtual machine was suspended or moved to another host,
/// its counter may have another value or another rate. Anchors are those of `read_uncorrected_anchor`.
class CounterWatch {
 public:
  constexpr CounterWatch() = default;
  explicit constexpr CounterWatch(const ClockAnchor& first) : first_(first), last_(first) {}
  /// Anchors must come in order. False: since the previous anchor the counter has gained or lost more than 1 ms and 0.1
  /// % against the kernel's clock; from here on it is watched anew. Nothing can be known before the first second has
  /// passed.
  bool agrees(const ClockAnchor& anchor);

 private:
  ClockAnchor first_{}, last_{};
};

}  // namespace refrain::platform

#pragma once
/// Metrics that the user has asked for (REFRAIN_METRICS): cumulative counters of each thread, whose growth is charged
/// to call paths. Without any, nothing of this file runs and no value row is wider.
///
/// They are read just before and just after the MPI library runs in an outermost call, at ticks in user code, and where
/// a unit begins or ends. The growth inside an MPI call is charged to its call path; at a tick, the growth since the
/// last reading is charged to the function that the tick found; the rest of a unit is shared out offline. The growth
/// during Refrain's own longer work (the end of an iteration, a snapshot) is left out.
///
/// Where the numbers come from is for runtime/ to say, in a table of functions; nothing of PAPI is known here.

#include <cstddef>
#include <cstdint>

#include "measurement/metrics.hpp"
#include "platform/clock.hpp"

namespace refrain::measurement {

struct Location;

inline constexpr std::size_t max_extra_metrics = 12;

struct ExtraMetric {
  const char* name;
  const char* unit;  ///< "1", "B", "ns"
};

/// The table. Filled before the first location, constant from then on.
struct ExtraMetrics {
  std::uint32_t count = 0;
  ExtraMetric metric[max_extra_metrics] = {};
  /// Counters for the calling thread; null: there are none, for lack of memory or descriptors. Ordinary context.
  void* (*open)() = nullptr;
  /// On the thread that has opened them. Ordinary context.
  void (*close)(void* counters) = nullptr;
  /// `count` values that never fall, for the thread that has opened the counters. What cannot be read, at a tick or at
  /// all, is left as it is. False: some could not be read that should. Keeps errno. Async-signal-safe with `at_tick`.
  bool (*read)(void* counters, bool at_tick, std::int64_t* values) = nullptr;
};
inline constinit ExtraMetrics extra_metrics{};

/// Of one location.
struct ExtraReadings {
  void* counters;                             ///< null: no thread has them open now
  const void* thread;                         ///< the thread that has opened them
  std::int64_t last[max_extra_metrics];       ///< last reading
  std::int64_t begin[max_extra_metrics];      ///< reading at the begin of the unit in progress
  std::int64_t unit[max_extra_metrics];       ///< growth in the unit in progress, before `begin`
  std::int64_t outside[max_extra_metrics];    ///< growth outside of iterations, but for the unit in progress
  std::int64_t uncounted[max_extra_metrics];  ///< of the last reading, what belongs to no unit
  bool leave_out;                             ///< the growth until the next reading is charged to nothing
};

/// The calling thread begins / ceases to own the location. Ordinary context.
void begin_readings(Location& location);
void end_readings(Location& location);

/// Reads the counters. By the owner; on another thread's location it does nothing: the last reading stands.
/// Async-signal-safe with `at_tick`.
void take_reading(Location& location, bool at_tick);
/// Reads the counters at `at`, in a tick or else at the end of a call, adds the growth since the last reading to the
/// extra columns of a value row, and notes the reading. Async-signal-safe with `at_tick`.
void charge_reading(Location& location, bool at_tick, platform::Ticks at, std::int64_t* extra_columns);

/// What has been counted on the location up to the last reading: the sum over all units.
inline std::int64_t counted_of(const ExtraReadings& r, std::size_t metric) {
  return r.last[metric] - r.uncounted[metric];
}

/// The growth since the last reading is that of Refrain's own longer work: it is charged to nothing. Ordinary context.
void leave_out_own_work(Location& location);

/// The unit in progress has lasted until the last reading; what comes after it belongs to another unit.
inline void end_unit_readings(ExtraReadings& r) {
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) {
    r.unit[i] += r.last[i] - r.begin[i];
    r.begin[i] = r.last[i];
  }
}

}  // namespace refrain::measurement

#pragma once
/// Metrics that the user has asked for (REFRAIN_METRICS): cumulative counters of each thread, whose growth is charged
/// to call paths. Without any, nothing of this file runs and value rows have no further columns.
///
/// They are read just before and just after the MPI library runs in an outermost call, at ticks in user code, and where
/// a unit begins or ends. The growth inside an MPI call is charged to its call path; the growth between the last
/// reading and a tick is charged to the function that the tick found; the rest of a unit is divided offline. The growth
/// during Refrain's own longer work (the end of an iteration, a snapshot) is left out.
///
/// runtime/ provides the functions that read the counters; this folder knows nothing of PAPI.

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

/// The table of metrics. Filled before the first location is made, constant from then on.
struct ExtraMetrics {
  std::uint32_t count = 0;
  ExtraMetric metric[max_extra_metrics] = {};
  /// Opens counters for the calling thread. Null: no memory or no descriptors. Ordinary context.
  void* (*open)() = nullptr;
  /// Closes counters, on the thread that has opened them. Ordinary context.
  void (*close)(void* counters) = nullptr;
  /// Reads `count` values that never fall, on the thread that has opened the counters. A value that cannot be read, at
  /// a tick or at all, is left unchanged. False: a value that should be readable was not. Keeps errno.
  /// Async-signal-safe with `at_tick`.
  bool (*read)(void* counters, bool at_tick, std::int64_t* values) = nullptr;
};
inline constinit ExtraMetrics extra_metrics{};

/// The readings of one location.
struct ExtraReadings {
  void* counters;                             ///< null: no thread has them open now
  const void* thread;                         ///< thread pointer of the thread that has opened them
  std::int64_t last[max_extra_metrics];       ///< last reading
  std::int64_t begin[max_extra_metrics];      ///< reading at the begin of the unit in progress
  std::int64_t unit[max_extra_metrics];       ///< growth in the unit in progress, before `begin`
  std::int64_t outside[max_extra_metrics];    ///< growth outside of iterations, but for the unit in progress
  std::int64_t uncounted[max_extra_metrics];  ///< of the last reading, what belongs to no unit
  bool leave_out;                             ///< the growth until the next reading is charged to nothing
};

/// The calling thread begins to own the location, or ceases to. Ordinary context.
void begin_readings(Location& location);
void end_readings(Location& location);

/// Reads the counters. By the owner; does nothing on another thread's location, where the last reading remains.
/// Async-signal-safe with `at_tick`.
void take_reading(Location& location, bool at_tick);
/// Reads the counters at time `at`, in a tick or at the end of a call, adds the growth since the last reading to the
/// extra columns of a value row, and notes the reading. Async-signal-safe with `at_tick`.
void charge_reading(Location& location, bool at_tick, platform::Ticks at, std::int64_t* extra_columns);

/// The count of a metric on the location up to the last reading: the sum over all units.
inline std::int64_t counted_of(const ExtraReadings& r, std::size_t metric) {
  return r.last[metric] - r.uncounted[metric];
}

/// The growth since the last reading comes from Refrain's own longer work: it is charged to nothing. Ordinary context.
void leave_out_own_work(Location& location);

/// The unit in progress ended at the last reading; later growth belongs to the next unit.
inline void end_unit_readings(ExtraReadings& r) {
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) {
    r.unit[i] += r.last[i] - r.begin[i];
    r.begin[i] = r.last[i];
  }
}

}  // namespace refrain::measurement

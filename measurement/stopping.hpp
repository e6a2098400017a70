#pragma once
/// MPI_Pcontrol: the program stops the measurement of its process and resumes it.
///
/// While it is stopped no thread's calls and ticks are recorded. The time of the stops adds up by itself
/// (Location::while_stopped), and is a unit of its own in the experiment. Calls write to a row that nobody reads, so
/// what the adapters know beside (requests, communicators) stays right; totals of the unit in progress are put back.
/// The time of a unit or call in progress is divided at both moments. A call belongs to the state it began in. Marks
/// have their effect as ever.
///
/// An iteration of which nothing was measured keeps its number, and has no cluster.
///
/// Both are to be called on a measured thread, inside a scope, in ordinary context. The other threads are paused for a
/// moment. False: they could not be paused, nothing has changed.

#include <atomic>

#include "measurement/location.hpp"

namespace refrain::measurement {

inline std::atomic<bool> measurement_is_stopped{false};

bool stop_measurement();
/// `resumed` is called for every location that goes on.
bool resume_measurement(void (*resumed)(Location& location));

/// For a location whose thread has just begun while the measurement is stopped.
void begin_stopped(Location& location);

/// Wall and CPU time of a location's stops; of those that have ended and, until the given times, the one in progress.
struct StoppedTime {
  platform::Ticks wall;
  std::int64_t cpu_ns;
};
StoppedTime stopped_until(const Location& location, platform::Ticks now, std::int64_t cpu_now_ns);

}  // namespace refrain::measurement

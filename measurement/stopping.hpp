#pragma once
/// MPI_Pcontrol: the program stops and resumes the measurement of its process.
///
/// While it is stopped, calls and ticks are recorded on no thread. The time of all stops is summed separately
/// (Location::while_stopped) and is a unit of its own in the experiment. Calls write to a row that is never read, so
/// the adapters go on tracking requests and communicators; the totals of the unit in progress are restored afterwards.
/// The time of a unit or call in progress is divided at the stop and at the resumption. A call belongs to the state in
/// which it began. Marks keep their effect.
///
/// An iteration during which the measurement was stopped all the time keeps its number and has no cluster.
///
/// Both functions are to be called on a measured thread, inside a scope, in ordinary context. The other threads are
/// paused for a moment. False: they could not be paused, and nothing has changed.

#include <atomic>

#include "measurement/location.hpp"

namespace refrain::measurement {

inline std::atomic<bool> measurement_is_stopped{false};

bool stop_measurement();
/// `resumed` is called for every location that is measured again.
bool resume_measurement(void (*resumed)(Location& location));

/// For a location whose thread begins while the measurement is stopped.
void begin_stopped(Location& location);

/// Wall and CPU time of a location's stops, including the one in progress up to the given times.
struct StoppedTime {
  platform::Ticks wall;
  std::int64_t cpu_ns;
};
StoppedTime stopped_until(const Location& location, platform::Ticks now, std::int64_t cpu_now_ns);

}  // namespace refrain::measurement

#pragma once
/// The duration of Refrain's own work, from entry to exit, with the caches as the program leaves them; by kind of work,
/// per location.
///
/// - MPI calls are too short for each to be timed. The first `calls_timed_each` of a location are timed, then one of
///   every `calls_per_timing`, at a random position, so that all calls have the same chance. Calls are charged with the
///   mean times their number (docs/architecture.md, "The rules of time").
/// - Every tick is timed; ticks are charged with their mean, too.
/// - Every mark, begin and end of an iteration is timed and charged with its own time.
///
/// Times are wall times of a thread that has kept its processor. If it has not (platform/switch_watch.hpp), its time is
/// replaced by the mean of the kind, because waiting for a processor is not Refrain's work. Work that may wait or lasts
/// long (files, the start of MPI) is charged by the CPU clock: charge_longer_work().

#include <cstddef>
#include <cstdint>

#include "measurement/metrics.hpp"
#include "platform/clock.hpp"

namespace refrain::measurement {

struct Location;

inline constexpr std::int32_t calls_timed_each = 64;
inline constexpr std::int32_t calls_per_timing = 32;

/// The times of one kind of work at one location.
struct OwnTimes {
  std::int64_t each = 0;  ///< number of times that stand for themselves
  platform::Ticks each_sum = 0;
  std::int64_t sampled = 0;  ///< number of times that stand for `calls_per_timing` each
  platform::Ticks sampled_sum = 0;
  unsigned __int128 sampled_squares = 0;  ///< an integer: calls compute in the program's floating-point environment
};

OwnTimeMean mean_of(const OwnTimes& times);

/// Where a piece of Refrain's own work began.
struct OwnTimeBegin {
  platform::Ticks at;
  platform::Ticks left_out;  ///< Location::own_times_left_out
  std::uint32_t watch;
};

/// Timing of the calls of a location.
struct CallTiming {
  OwnTimeBegin begin, begin_before;  ///< of the timed call and of the one before, for take_back_timing()
  std::int32_t position;             ///< of the last timed call among its `calls_per_timing`, from 1
  std::int64_t each_left;            ///< number of further calls that are all timed
};

/// The call that the thread has entered at `at` is timed.
[[gnu::always_inline]] inline void begin_timed_call(Location& location, platform::Ticks at);
/// Undoes the timing of a call that is not measured, because it is within another one or could not enter.
void take_back_timing(Location& location);
/// The timed call ends: MPI returned at `end`, and Refrain returns at `exit`. Async-signal-safe.
void end_timed_call(Location& location, platform::Ticks end, platform::Ticks exit);

/// Begins to time a piece of own work. Ordinary context or the tick handler.
[[nodiscard]] inline OwnTimeBegin begin_own_time(Location& location);
/// The time since `begin`, or the mean of the kind when the thread has lost its processor. It is not counted in the own
/// time of enclosing work.
platform::Ticks end_own_time(Location& location, OwnTime of, const OwnTimeBegin& begin);
/// The same for work that is not nested in other work. Async-signal-safe.
platform::Ticks take_own_time(Location& location, OwnTime of, const OwnTimeBegin& begin);

/// Calls end_own_time() in its destructor and charges the unit that is then in progress.
class TimedOwnWork {
 public:
  TimedOwnWork(Location& location, OwnTime of, const OwnTimeBegin& begin)
      : location_(location), begin_(begin), of_(of) {}
  inline ~TimedOwnWork();
  TimedOwnWork(const TimedOwnWork&) = delete;

 private:
  Location& location_;
  const OwnTimeBegin& begin_;
  OwnTime of_;
};

/// Charges `work` ticks of own work, which has lasted `elapsed` ticks, separately. Inside a scope.
void charge_longer_work(Location& location, platform::Ticks work, platform::Ticks elapsed);

/// A thread begins to own the location.
void begin_own_times(Location& location);

}  // namespace refrain::measurement

#pragma once
/// How long Refrain's own work takes where it is done, with the caches as the program leaves them: from entry to exit,
/// by kind of work, per location.
///
/// - An MPI call is too short to be timed always. The first `calls_timed_each` of a location are, then one of every
///   `calls_per_timing`, at a random position among them, so that each call has the same chance. The mean, times the
///   number of calls, is what calls have cost (docs/architecture.md, "The rules of time").
/// - Ticks are timed each, and charged by their mean, too.
/// - Marks, and the begins and ends of iterations, are timed each, and charged as they are.
///
/// All of it is wall time of a thread that has kept its processor. Where the thread has not
/// (platform/switch_watch.hpp), the time is not taken: waiting for a processor is no work of ours, and the mean of the
/// kind stands for it. What may wait or lasts long (files, the start of MPI) is charged by the CPU clock instead:
/// charge_longer_work().

#include <cstddef>
#include <cstdint>

#include "measurement/metrics.hpp"
#include "platform/clock.hpp"

namespace refrain::measurement {

struct Location;

inline constexpr std::int32_t calls_timed_each = 64;
inline constexpr std::int32_t calls_per_timing = 32;

/// Of one kind at one location.
struct OwnTimes {
  std::int64_t each = 0;  ///< times taken that stand for themselves
  platform::Ticks each_sum = 0;
  std::int64_t sampled = 0;  ///< those that stand for `calls_per_timing`
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

/// Of a location.
struct CallTiming {
  OwnTimeBegin begin, begin_before;  ///< of the call that is timed, and the one before, for take_back_timing()
  std::int32_t position;             ///< of the last timing among its `calls_per_timing`, from 1
  std::int64_t each_left;            ///< calls that are still to be timed each
};

/// The call that the thread has entered at `at` is to be timed.
[[gnu::always_inline]] inline void begin_timed_call(Location& location, platform::Ticks at);
/// A call is not measured after all: it is inside another one, or in a scope that may not begin.
void take_back_timing(Location& location);
/// The timed call ends; MPI was left at `end`, Refrain is left at `exit`. Async-signal-safe.
void end_timed_call(Location& location, platform::Ticks end, platform::Ticks exit);

/// Own work of a kind that is timed each begins. Ordinary context or the tick handler.
[[nodiscard]] inline OwnTimeBegin begin_own_time(Location& location);
/// The time since `begin`; the mean of the kind when the thread has lost its processor. It is left out of the own time
/// of the work around it.
platform::Ticks end_own_time(Location& location, OwnTime of, const OwnTimeBegin& begin);
/// The same for work that lies in no other. Async-signal-safe.
platform::Ticks take_own_time(Location& location, OwnTime of, const OwnTimeBegin& begin);

/// Calls end_own_time() in its destructor, and charges the unit that is in progress then.
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

/// `work` ticks of own work, which have lasted `elapsed` ticks, are charged by themselves. Inside a scope.
void charge_longer_work(Location& location, platform::Ticks work, platform::Ticks elapsed);

/// A thread begins at the location.
void begin_own_times(Location& location);

}  // namespace refrain::measurement

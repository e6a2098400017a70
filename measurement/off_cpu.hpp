#pragma once
/// How long a thread was off the CPU, exactly: in user code, in MPI calls, and how much of the former it was ready to
/// run and waited for a core.
///
/// Wall time minus the thread's CPU clock grows only while the thread does not run. A *look* reads both clocks. The
/// thread looks where user code ends and a call begins, where the call ends, where a unit, a loop or a region begins or
/// ends, and in ticks; but only if it may have lost its processor since the last look (platform/switch_watch.hpp), so
/// a look costs less than the switch that caused it. All readings are of counters: nothing is lost between two looks, a
/// change may only be seen late. The scheduler's run delay (platform/run_delay.hpp) is read together with the clocks.
///
/// An interval of less than a microsecond cannot contain a switch: two processes that only yield to each other switch
/// in 1.5 us. Without a switch watch the thread looks only after intervals of 20 us and more, so a shorter time off the
/// CPU counts in the next interval, and run delay is read only when the clocks show that time is missing.
///
/// Short calls share one look: after each of them only the watch begins anew, and their call paths are remembered. So
/// while the watch holds in user code, time off the CPU belongs to the calls. Where it does not hold, the look cannot
/// distinguish the calls from user code, and all of the calls' time counts as off the CPU: at most some 20 us are
/// wrong, once for each interval with a switch.
///
/// The time off the CPU of a unit is its wall time minus its CPU time; these looks divide it into the part in calls,
/// the part in which the thread waited for a core in user code, and the rest.
///
/// Each call path has the part of its own calls. Calls that one look covers share its time off the CPU in proportion to
/// their time, and none gets more than that. The remainder is in the total of the unit only.
///
/// Refrain's bookkeeping counts as user code: a thread that waits for a core there waits like the program. Time that a
/// hypervisor or interrupts take from a thread that keeps its processor is seen at the next look; where a region or a
/// unit ends the thread looks if the last look was more than some 0.4 ms ago.
///
/// A tick that is left by a jump (abandoned_scope.hpp) may lose what it has just read, as it loses its sample.

#include <cstdint>

#include "measurement/call_tree.hpp"
#include "platform/clock.hpp"
#include "platform/run_delay.hpp"

namespace refrain::measurement {

struct Location;

/// Nanoseconds.
struct OffCpuTimes {
  std::int64_t user = 0;     ///< in user code
  std::int64_t waited = 0;   ///< part of `user` in which the thread was ready to run
  std::int64_t mpi = 0;      ///< in MPI calls
  std::int64_t in_call = 0;  ///< part of `mpi` in the call in progress, or the one that has just ended

  OffCpuTimes& operator+=(const OffCpuTimes& other) {
    user += other.user;
    waited += other.waited;
    mpi += other.mpi;
    in_call += other.in_call;
    return *this;
  }
};

/// Short calls of one call path that share a look with others.
struct ShortCalls {
  NodeId node;
  platform::Ticks lasted;
};

/// State of a location's thread.
struct OffCpu {
  static constexpr std::uint32_t max_short_calls = 8;

  bool has_descriptor = false;
  bool knows_delay = false;
  platform::Ticks at = 0;     ///< time of the last look
  platform::Ticks calls = 0;  ///< duration of short calls since then in which the thread may have been switched out
  std::uint32_t short_call_count = 0;
  ShortCalls short_calls[max_short_calls] = {};  ///< these calls, by call path
  std::int64_t cpu_ns = 0;                       ///< the thread's CPU clock at the last look
  std::int64_t behind_ns = 0;                    ///< wall clock minus CPU clock at the last look
  std::int64_t delay_ns = 0;                     ///< run delay when it was last read
  OffCpuTimes unread{};                          ///< time off the CPU since run delay was last read; `waited` is 0
  OffCpuTimes sum{};                             ///< of the thread, up to the last look, while it was measured
  platform::RunDelay run_delay;
  // For the event of a call: begin of the last call with time off the CPU, and that time so far.
  platform::Ticks call_begin = 0;
  std::int64_t call_ns = 0;
  std::uint32_t watch = 0;  ///< begun at the last look; last member, as Location::cpu_clock comes next
};

/// In ticks, for counters of 1 GHz and more. No look is made after an interval that is shorter than the first.
/// Intervals shorter than the second have no look of their own without a watch, and calls shorter than it never.
inline constexpr platform::Ticks shortest_with_switch = 1'000, shortest_without_watch = 50'000;
/// In ticks: at a mark the thread looks after this time even if the watch holds.
inline constexpr platform::Ticks longest_without_look = 1'000'000;

/// The location's thread begins, or ends. By the thread itself, inside a scope; another thread may end it, too.
void begin_off_cpu(Location& location);
void end_off_cpu(Location& location);

/// A look: the time off the CPU since the last look, in an MPI call or in user code. It is added to the sum of the
/// thread, but not to the unit in progress. The part of short calls before the call in progress is added to their rows;
/// OffCpuTimes::in_call is in no row. Run delay is read, too, except by ticks of threads without a descriptor for it;
/// what was not read at each look is divided in proportion to the time off the CPU. By the thread itself or the holder
/// of the location. Async-signal-safe.
OffCpuTimes take_off_cpu(Location& location, bool in_mpi);
/// A look whose result is added to the unit in progress and to the row of the call in progress.
void count_off_cpu(Location& location, bool in_mpi);
/// The same in a tick that has found user code: the signal has ended the watch, and a call that begins next need not
/// look again. `holds`: the tick holds the location; otherwise time of short calls is assigned to no call path.
void count_off_cpu_in_tick(Location& location, bool holds);
/// The same for a call whose end was not seen: its time counts up to `until`, and the time since then as user code.
void count_off_cpu_of_call(Location& location, platform::Ticks until);
/// The result that take_off_cpu() would have; changes nothing. Ordinary context; by the holder of the location.
OffCpuTimes off_cpu_since_look(const Location& location, bool in_mpi);

/// The call in progress has ended at `end` after `lasted` ticks: looks and counts, unless the thread has kept its
/// processor. Run delay is read only through a descriptor that is kept open. By the thread itself, inside a scope.
void look_at_call_end(Location& location, platform::Ticks lasted, platform::Ticks end);
/// The same where user code ends at `now` and a call begins. Returns when the call begins, which is after the look.
platform::Ticks look_at_call_begin(Location& location, platform::Ticks now);

/// The same where a unit, a loop or a region begins or ends at `now`. Afterwards run delay has been read for all
/// earlier looks. The look is part of the bookkeeping in progress.
void look_at_boundary(Location& location, platform::Ticks now);

}  // namespace refrain::measurement

#pragma once
/// For how long a thread was off the CPU, exactly: in user code, there also how long it was ready and waited for a
/// core, and in calls of MPI.
///
/// Wall time less the thread's CPU clock grows only while the thread does not run. So it is looked at where user code
/// ends and a call begins, where the call ends, where a unit, a loop or a region begins or ends, and in ticks; and only
/// when the thread may have lost its processor since (platform/switch_watch.hpp): a switch costs more than the look.
/// All are counters: nothing is lost between two looks, it may only be told late. What the scheduler calls run delay
/// (platform/run_delay.hpp) is read with them.
///
/// No stretch of less than a microsecond can hold a switch: two processes that only yield to each other switch in 1.5
/// us. Without a watch only stretches of some 20 us and more are looked at: what is shorter moves to its neighbour.
/// There run delay is read only when the clocks say that time is missing.
/// Calls that are shorter are looked at together: only the watch begins anew after each, and their paths are
/// remembered. So while it holds in user code, what the clocks have grown by is the calls'; where it does not, the look
/// cannot tell the calls from the stretch, and the calls count as off the CPU all the time: at most some 20 us are
/// wrong, once for a stretch that was switched out.
///
/// A unit has its time off the CPU by its wall time and CPU clock; of that this tells which part was in calls, and
/// which part of the rest was waiting for a core.
///
/// Each call path has the part of its own calls. Calls that one look covers share its time off the CPU in proportion to
/// their time, and none gets more than that. The rest is in the unit alone: it is assigned to no call path.
///
/// Bookkeeping of Refrain counts as user code: a thread that has to wait for a core there waits like the program.
/// What a hypervisor or interrupts take from a thread that keeps its processor comes with the next look; where a region
/// or a unit ends there is one unless less than some 0.4 ms have passed since the last one.
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
  std::int64_t waited = 0;   ///< of these ready to run
  std::int64_t mpi = 0;      ///< in calls of MPI
  std::int64_t in_call = 0;  ///< of these in the call in progress, or the one that has just ended

  OffCpuTimes& operator+=(const OffCpuTimes& other) {
    user += other.user;
    waited += other.waited;
    mpi += other.mpi;
    in_call += other.in_call;
    return *this;
  }
};

/// Calls of one call path that are looked at together with others.
struct ShortCalls {
  NodeId node;
  platform::Ticks lasted;
};

/// Of a location's thread.
struct OffCpu {
  static constexpr std::uint32_t max_short_calls = 8;

  bool has_descriptor = false;
  bool knows_delay = false;
  platform::Ticks at = 0;     ///< when the last look was
  platform::Ticks calls = 0;  ///< how long calls have lasted since, in which the thread may have been switched out
  std::uint32_t short_call_count = 0;
  ShortCalls short_calls[max_short_calls] = {};  ///< these calls, by call path
  std::int64_t cpu_ns = 0;                       ///< the thread's CPU clock then
  std::int64_t behind_ns = 0;                    ///< how far that was behind the wall clock
  std::int64_t delay_ns = 0;                     ///< run delay when it was last read
  OffCpuTimes unread{};                          ///< off the CPU since then; `waited` is 0
  OffCpuTimes sum{};                             ///< of the thread, up to the last look, while it was measured
  platform::RunDelay run_delay;
  // For the event of a call: begin of the call that was last found off the CPU, and for how long it has been so far.
  platform::Ticks call_begin = 0;
  std::int64_t call_ns = 0;
  std::uint32_t watch = 0;  ///< since the last look; last: Location::cpu_clock follows
};

/// In ticks; of counters of 1 GHz and more. What is shorter than the second is not looked at by itself without a watch,
/// and with one not after calls.
inline constexpr platform::Ticks shortest_with_switch = 1'000, shortest_without_watch = 50'000;
/// In ticks: a mark looks after a stretch of this length even if the watch has seen no switch.
inline constexpr platform::Ticks longest_without_look = 1'000'000;

/// The location's thread begins / ends. The thread itself, inside a scope; it may also be ended by another thread.
void begin_off_cpu(Location& location);
void end_off_cpu(Location& location);

/// The time off the CPU since the last look, which counts as that of a call of MPI, or of user code, in the
/// sum of the thread but not in the unit in progress. Short calls before the call in progress have their part in the
/// rows of the unit in progress; OffCpuTimes::in_call is in no row. Run delay is read, too, but by ticks of threads
/// without a descriptor for it; where that has not been done at each look, it is divided in proportion to the time off
/// the CPU. By the thread itself, or by who holds it. Async-signal-safe.
OffCpuTimes take_off_cpu(Location& location, bool in_mpi);
/// The same, and counted in the unit in progress and at the path of the call in progress.
void count_off_cpu(Location& location, bool in_mpi);
/// The same in a tick that has found user code: the signal has ended the watch, and a call that begins after it need
/// not look again. `holds`: the tick holds the location; else the time of calls before it is assigned to no call path.
void count_off_cpu_in_tick(Location& location, bool holds);
/// The same of a call that nobody has seen end: it is counted until then, and what comes after is user code.
void count_off_cpu_of_call(Location& location, platform::Ticks until);
/// The same as take_off_cpu(), and nothing is changed. Ordinary context; by who holds the thread.
OffCpuTimes off_cpu_since_look(const Location& location, bool in_mpi);

/// The call in progress has ended at `end`, and has lasted so long: the thread's time off the CPU meanwhile is counted
/// in the unit in progress and at the call path, unless the thread has kept its processor. Run delay is read only where
/// a descriptor is kept for that. By the thread itself, inside a scope.
void look_at_call_end(Location& location, platform::Ticks lasted, platform::Ticks end);
/// The same for a stretch of user code that ends at `now`, where a call begins; returns when that begins, after the
/// look.
platform::Ticks look_at_call_begin(Location& location, platform::Ticks now);

/// The same where a unit, a loop or a region begins or ends at `now`: the run delay of all looks before is known
/// afterwards. The look is part of the bookkeeping that is in progress.
void look_at_boundary(Location& location, platform::Ticks now);

}  // namespace refrain::measurement

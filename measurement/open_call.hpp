#pragma once
/// Calls in progress on a location: calls of functions that Refrain wraps.
///
/// The outermost is one of MPI; what MPI calls of itself is not recorded. But a call of another source may lie within
/// it: MPI writes to a file. So the calls in progress are a stack: the innermost is `Location::call`, those around it
/// are `Location::around`. Each has its own time, without that of calls nested in it; the sums of a unit
/// (format/metrics.hpp) hold all of it.
///
/// A unit may end while calls are in progress. Then each is charged what has passed of it: `charged_until` moves, and
/// `begin` stays what it was.
///
/// Written by the owner between entering and leaving (entrance.hpp), by its ticks, or by who pauses it.

#include <cstdint>

#include "measurement/call_tree.hpp"
#include "platform/clock.hpp"
#include "unwind/walker.hpp"

namespace refrain::measurement {

struct Location;

/// Index into the adapter's table of MPI functions (`region_names`), or the id of a user region (regions.hpp).
enum class RegionId : std::uint16_t {};

/// What a call spends its time on.
enum class ClassOfTime : std::uint8_t { Mpi, Io };

/// Of a call of MPI's Fortran function, which will call the C function of the same region (mpi_call.hpp).
enum class Announcement : std::uint8_t { None, Made, Answered };

struct OpenCall {
  /// To notice that the call was abandoned: the stack pointer of who called, and where the call returns to.
  std::uintptr_t sp = 0, pc = 0;
  platform::Ticks begin = 0;
  platform::Ticks charged_until = 0;  ///< `begin` until the first cut
  platform::Ticks taken_out = 0;      ///< of the time since `charged_until`: ticks (calibrated) and nested calls
  std::int64_t* values = nullptr;     ///< its value row, null when the unit of the row has ended
  NodeId node{};
  RegionId region{};
  ClassOfTime time{};
  Announcement announcement{};
};
inline constexpr unsigned most_calls_around = 3;

/// OpenCall::node of a call that began while the measurement was stopped (stopping.hpp).
inline constexpr NodeId unrecorded_call{0xffffffff};

/// Value row of a call in progress, in the unit in progress. Async-signal-safe.
std::int64_t* row_of(Location& location, const OpenCall& call);

/// The outermost call in progress has ended: it is counted if it began while the measurement went on, also when it ends
/// in a stop.
void count_ended_call(Location& location);
/// Row of the innermost call in progress, which has ended, when the unit that it began in has not lasted so long or the
/// measurement was stopped or resumed meanwhile. Who calls this counts the call in Location::unit afterwards: that is
/// made good here when the call does not count there.
std::int64_t* row_after_cut(Location& location);

/// The unit in progress has ended at `until`: what has passed of the calls in progress goes to it. The next part of
/// them begins at `goes_on`. Inside a scope. Async-signal-safe.
void cut_open_calls(Location& location, platform::Ticks until, platform::Ticks goes_on);
/// The measurement is stopped while calls are in progress, and is resumed (stopping.hpp).
void stop_open_calls(Location& location, platform::Ticks now);
void resume_open_calls(Location& location, platform::Ticks now);

/// The part of a call's own time up to `until` that has not been charged.
inline platform::Ticks uncharged_time(const OpenCall& call, platform::Ticks until) {
  const platform::Ticks time = until - call.charged_until - call.taken_out;
  return time > 0 ? time : 0;
}

/// Calls f(call, uncharged time up to `until`) for the calls in progress, outermost first.
template <class L, class F>
void for_each_open_call(L& location, platform::Ticks until, F&& f) {
  // A call had its own time until the one nested in it began, or was charged last.
  for (unsigned i = 0; i < location.calls_around; ++i) {
    const OpenCall& within = i + 1 < location.calls_around ? location.around[i + 1] : location.call;
    f(location.around[i], uncharged_time(location.around[i], within.charged_until));
  }
  f(location.call, uncharged_time(location.call, until));
}

/// A call within the one in progress begins / has ended at `end`. Inside a scope. Async-signal-safe.
void push_call(Location& location);
void pop_call(Location& location, platform::Ticks end);

/// The innermost call in progress is counted, with its time up to `until`, and is no more. Inside a scope.
/// Async-signal-safe.
void end_open_call(Location& location, platform::Ticks until);
/// All of them.
void end_open_calls(Location& location, platform::Ticks until);

/// Whether a call around the innermost one was made from a frame with the stack pointer `sp`.
bool is_call_around(const Location& location, std::uintptr_t sp);
/// Ends the calls nested in that one: they were left by a jump. Inside a scope.
void end_calls_within(Location& location, std::uintptr_t sp);

/// True when the innermost call, or scope, in progress cannot be alive, seen from where the program is, with the stack
/// pointer `sp`: the program has left it without returning, by longjmp or an exception out of an MPI call, or of a
/// signal handler that interrupted Refrain. Three things prove that, the first and the last on any stack:
///  - the same stack pointer: a frame makes one call at a time;
///  - a higher one on the thread's own stack: what a live call has called lies below it;
///  - the word where the scope returns to has changed.
/// Another stack (a fiber's, an alternate one) proves nothing by its place. Async-signal-safe.
bool scope_is_gone(const Location& location, std::uintptr_t sp);

/// False when the frame that made the innermost call in progress is not on the stack any more, seen from `from`, by a
/// walk over all of it: a word that scope_is_gone() looks at may be as it was for long. True as well where that cannot
/// be known: on another stack than the thread's own, or when the walk does not reach the end. Inside a scope.
/// Async-signal-safe.
bool caller_is_on_stack(Location& location, const unwind::Start& from);

/// The innermost call in progress was left: it is counted with its time up to the last tick that found it there.
/// Inside a scope. Async-signal-safe.
void end_abandoned_call(Location& location);
/// Likewise those around it that are gone, seen from `from`. True: none is in progress any more.
bool end_abandoned_calls(Location& location, const unwind::Start& from);

}  // namespace refrain::measurement

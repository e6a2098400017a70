#pragma once
/// The call in progress on a location: of an MPI function, made by the program. A thread has one at most: what MPI
/// calls of itself, or a callback of the program calls within it, belongs to it and passes through (mpi_call.hpp).
///
/// A unit may end while a call is in progress. Then the call is charged what has passed of it: `charged_until` moves,
/// and `begin` stays what it was.
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

/// Of a call of MPI's Fortran function, which will call the C function of the same region (mpi_call.hpp).
enum class Announcement : std::uint8_t { None, Made, Answered };

struct OpenCall {
  /// To notice that the call was abandoned: the stack pointer of who called, and where the call returns to.
  std::uintptr_t sp = 0, pc = 0;
  platform::Ticks begin = 0;
  platform::Ticks charged_until = 0;  ///< `begin` until the first cut
  platform::Ticks taken_out = 0;      ///< of the time since `charged_until`: ticks (calibrated)
  std::int64_t* values = nullptr;     ///< its value row, null when the unit of the row has ended
  NodeId node{};
  RegionId region{};
  Announcement announcement{};
};

/// OpenCall::node of a call that began while the measurement was stopped (stopping.hpp).
inline constexpr NodeId unrecorded_call{0xffffffff};

/// Where an operation was begun that another call completes, perhaps on another thread.
struct BegunAt {
  std::int32_t thread;  ///< Location::thread
  NodeId node;          ///< call path there
};

/// Value row of a call in progress, in the unit in progress. Async-signal-safe.
std::int64_t* row_of(Location& location, const OpenCall& call);

/// Row of the call in progress, which has ended, when the unit that it began in has not lasted so long or the
/// measurement was stopped or resumed meanwhile. Who calls this counts the call in Location::unit afterwards: that is
/// made good here when the call does not count there.
std::int64_t* row_after_cut(Location& location);

/// The unit in progress has ended at `until`: what has passed of the call in progress goes to it. The next part of the
/// call begins at `goes_on`. Inside a scope. Async-signal-safe.
void cut_open_call(Location& location, platform::Ticks until, platform::Ticks goes_on);
/// The measurement is stopped while a call is in progress, and is resumed (stopping.hpp).
void stop_open_call(Location& location, platform::Ticks now);
void resume_open_call(Location& location, platform::Ticks now);

/// The part of a call's time up to `until` that has not been charged.
inline platform::Ticks uncharged_time(const OpenCall& call, platform::Ticks until) {
  const platform::Ticks time = until - call.charged_until - call.taken_out;
  return time > 0 ? time : 0;
}

/// The call in progress is counted, with its time up to `until`, and is no more. Inside a scope. Async-signal-safe.
void end_open_call(Location& location, platform::Ticks until);

/// The address lies on the stack of the location's thread, not on that of a fiber. Async-signal-safe.
bool is_on_own_stack(const Location& location, std::uintptr_t address);

/// True when the call, or scope, in progress cannot be alive, seen from where the program is, with the stack
/// pointer `sp`: the program has left it without returning, by longjmp or an exception out of an MPI call, or of a
/// signal handler that interrupted Refrain. Three things prove that, the first and the last on any stack:
///  - the same stack pointer: a frame makes one call at a time;
///  - a higher one on the thread's own stack: what a live call has called lies below it;
///  - the word where the scope returns to has changed.
/// Another stack (a fiber's, an alternate one) proves nothing by its place. Async-signal-safe.
bool scope_is_gone(const Location& location, std::uintptr_t sp);

/// False when the frame that made the call in progress is not on the stack any more, seen from `from`, by a
/// walk over all of it: a word that scope_is_gone() looks at may be as it was for long. True as well where that cannot
/// be known: on another stack than the thread's own, or when the walk does not reach the end. Inside a scope.
/// Async-signal-safe.
bool caller_is_on_stack(Location& location, const unwind::Start& from);

/// The call in progress was left: it is counted with its time up to the last tick that found it there. Inside a scope.
/// Async-signal-safe.
void end_abandoned_call(Location& location);

}  // namespace refrain::measurement

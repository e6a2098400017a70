#pragma once
/// The call in progress on a location: a call of a function that Refrain wraps.
///
/// A location has at most one. What the called function calls of itself passes through, whichever source wraps it: it
/// belongs to the call in progress.
///
/// A unit may end while the call is in progress. Then it is charged the call's time so far: `charged_until` moves, and
/// `begin` stays.
///
/// Written by the owner between entering and leaving (entrance.hpp), by its ticks, or by the thread that pauses it.

#include <atomic>
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
  /// To notice that the call was abandoned: the stack pointer of the caller, and where the call returns to.
  std::uintptr_t sp = 0, pc = 0;
  platform::Ticks begin = 0;
  platform::Ticks charged_until = 0;  ///< `begin` until the first cut
  platform::Ticks taken_out = 0;      ///< of the time since `charged_until`: ticks (calibrated)
  std::int64_t* values = nullptr;     ///< its value row, null when the unit of the row has ended
  NodeId node{};
  RegionId region{};
  Announcement announcement{};
  bool was_off_cpu = false;  ///< the thread has not run all the time: take_off_cpu_of_call()
};

/// OpenCall::node of a call that began while the measurement was stopped (stopping.hpp).
inline constexpr NodeId unrecorded_call{0xffffffff};

/// Where an operation was begun that another call completes, perhaps on another thread.
struct BegunAt {
  std::int32_t thread;  ///< Location::thread
  NodeId node;          ///< call path there
};

/// The program has made calls whose messages were not counted: from here on messages have no sequence numbers.
extern std::atomic<bool> messages_go_uncounted;

/// Value row of the call in progress, in the unit in progress. Async-signal-safe.
std::int64_t* row_of_call(Location& location);

/// The call in progress has ended: it is counted if it began while the measurement went on, also when it ends in a
/// stop.
void count_ended_call(Location& location);
/// Row of the call in progress, which has ended, when the unit that it began in has ended before it, or the measurement
/// was stopped or resumed meanwhile. The caller counts the call in Location::unit afterwards: that is made good here
/// when the call does not count there.
std::int64_t* row_after_cut(Location& location);

/// The unit in progress has ended at `until`: it gets the call's time so far. The next part of the call begins at
/// `goes_on`. Inside a scope. Async-signal-safe.
void cut_open_call(Location& location, platform::Ticks until, platform::Ticks goes_on);
/// The measurement is stopped while the call is in progress, and is resumed (stopping.hpp).
void stop_open_call(Location& location, platform::Ticks now);
void resume_open_call(Location& location, platform::Ticks now);

/// The part of a call's time up to `until` that has not been charged.
inline platform::Ticks uncharged_time(const OpenCall& call, platform::Ticks until) {
  const platform::Ticks time = until - call.charged_until - call.taken_out;
  return time > 0 ? time : 0;
}

/// The call in progress is counted, with its time up to `until`, and is no more. Inside a scope. Async-signal-safe.
void end_open_call(Location& location, platform::Ticks until);
/// The same of a call that was left by a jump: up to the last tick that found it there, and it is a loss.
void end_abandoned_call(Location& location);

/// True when the call, or scope, in progress cannot be alive, seen from where the program is, with the stack pointer
/// `sp`: the program has left it without returning, by longjmp or an exception out of an MPI call, or of a signal
/// handler that interrupted Refrain. Three things prove that, the first and the last on any stack:
///  - the same stack pointer: a frame makes one call at a time;
///  - a higher one on the thread's own stack: what a live call has called lies below it;
///  - the word where the scope returns to has changed.
/// Another stack (a fiber's, an alternate one) proves nothing by its place. Async-signal-safe.
bool scope_is_gone(const Location& location, std::uintptr_t sp);

/// False when the frame that made the call in progress is not on the stack any more, seen from `from`, by a walk over
/// all of it: a word that scope_is_gone() looks at may be as it was for long. True as well where that cannot be known:
/// on another stack than the thread's own, or when the walk does not reach the end. Inside a scope. Async-signal-safe.
bool caller_is_on_stack(Location& location, const unwind::Start& from);

}  // namespace refrain::measurement

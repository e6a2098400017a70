#pragma once
/// The call in progress on a location: a call of an MPI function by the program. A thread has one at most: calls that
/// MPI itself, or a callback of the program, makes within it belong to it and pass through (mpi_call.hpp).
///
/// A unit may end while a call is in progress. Then the call is charged with the time up to the cut: `charged_until`
/// moves, and `begin` stays.
///
/// Written by the owner between entering and leaving (entrance.hpp), by its ticks, or by the thread that pauses it.

#include <cstdint>

#include "measurement/call_tree.hpp"
#include "platform/clock.hpp"
#include "unwind/walker.hpp"

namespace refrain::measurement {

struct Location;

/// Index into the adapter's table of MPI functions (mpi_region_names), or the id of a user region (regions.hpp).
enum class RegionId : std::uint16_t {};

/// State of a call of a Fortran function, which will call the C function of the same region (mpi_call.hpp).
enum class Announcement : std::uint8_t { None, Made, Answered };

struct OpenCall {
  /// Stack pointer of the caller and return address, by which an abandoned call is recognised.
  std::uintptr_t sp = 0, pc = 0;
  platform::Ticks begin = 0;
  platform::Ticks charged_until = 0;  ///< `begin` until the first cut
  platform::Ticks taken_out = 0;      ///< cost of ticks since `charged_until`, calibrated
  std::int64_t* values = nullptr;     ///< its value row; null when the unit of the row has ended
  NodeId node{};
  RegionId region{};
  Announcement announcement{};
};

/// OpenCall::node of a call that began while the measurement was stopped (stopping.hpp).
inline constexpr NodeId unrecorded_call{0xffffffff};

/// The call path by which an operation was begun that another call completes, perhaps on another thread.
struct BegunAt {
  std::int32_t thread;  ///< Location::thread
  NodeId node;          ///< call path there
};

/// The value row of a call in progress, in the unit in progress. Async-signal-safe.
std::int64_t* row_of(Location& location, const OpenCall& call);

/// The row of the call in progress, which has ended, if a unit has ended during it or the measurement was stopped or
/// resumed. The caller will add one call to Location::unit; where the call does not count there, it is subtracted here.
std::int64_t* row_after_cut(Location& location);

/// The unit in progress has ended at `until`, and is charged with the time of the call in progress up to then. The next
/// part of the call begins at `goes_on`. Inside a scope. Async-signal-safe.
void cut_open_call(Location& location, platform::Ticks until, platform::Ticks goes_on);
/// The measurement is stopped, or resumed, while a call is in progress (stopping.hpp).
void stop_open_call(Location& location, platform::Ticks now);
void resume_open_call(Location& location, platform::Ticks now);

/// The part of a call's time up to `until` that is not charged yet.
inline platform::Ticks uncharged_time(const OpenCall& call, platform::Ticks until) {
  const platform::Ticks time = until - call.charged_until - call.taken_out;
  return time > 0 ? time : 0;
}

/// Counts the call in progress with its time up to `until` and ends it. Inside a scope. Async-signal-safe.
void end_open_call(Location& location, platform::Ticks until);

/// Whether the address lies on the stack of the location's thread, not on that of a fiber. Async-signal-safe.
bool is_on_own_stack(const Location& location, std::uintptr_t address);

/// True when the call or scope in progress cannot be alive, given that the program now has the stack pointer `sp`: it
/// was left without returning, by longjmp or an exception out of an MPI call or out of a signal handler that
/// interrupted Refrain. Any of these proves it, the first and the last on any stack:
///  - the stack pointer is the same: a frame makes one call at a time;
///  - the stack pointer is higher, on the thread's own stack: callees of a live call lie below it;
///  - the word on the stack that holds the return address of the scope has changed.
/// The address of another stack (a fiber's, an alternate one) proves nothing. Async-signal-safe.
bool scope_is_gone(const Location& location, std::uintptr_t sp);

/// False when a walk over the whole stack from `from` shows that the frame which made the call in progress is gone:
/// scope_is_gone() reads a word that may stay unchanged for long. True also where that cannot be known: on another
/// stack than the thread's own, or when the walk does not reach the end. Inside a scope. Async-signal-safe.
bool caller_is_on_stack(Location& location, const unwind::Start& from);

/// Counts a call that the program has left, with its time up to `seen`, when a tick last found it in progress; a time
/// before its begin: none has. Inside a scope. Async-signal-safe.
void end_abandoned_call(Location& location, platform::Ticks seen);

}  // namespace refrain::measurement

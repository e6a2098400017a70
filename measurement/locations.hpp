#pragma once
/// All locations of the process: making, ending, closing. Ordinary context only.
///
/// A location outlives its thread: it waits in a pool and the next new thread goes on with it, so a program of a
/// million short threads has as many locations as threads that ever ran at once. Wall and CPU time are those of the
/// threads' lives.

#include <cstddef>
#include <cstdint>

#include "measurement/location.hpp"

namespace refrain::measurement {

struct LocationSettings {
  std::size_t memory;  ///< bytes of call tree
  std::uint32_t callpath_depth;
  unwind::Backend backend;
};

/// A location of its own for the calling thread, from the pool or new; not yet its own_location(), not yet User.
/// Null: no memory.
Location* begin_location(const LocationSettings& settings);

/// The calling thread begins / stops being measured. `end_location` puts the location into the pool.
bool enter_location(Location& location);  ///< false: the measurement is ending
void end_location(Location& location);

/// Ends the measurement of a location whose thread may still run: afterwards nobody writes to it. A call in progress is
/// counted as far as it has come.
void close_location(Location& location);

/// So long a thread may be in Refrain's bookkeeping before it is given up.
inline constexpr std::int64_t pause_timeout_ns = 50'000'000;

/// Between these two nobody but the caller's thread writes to a location: others wait at their entries, and their ticks
/// record nothing. New locations may appear; they are to be left alone. False: one could not be paused, and none is; or
/// another thread pauses them already.
bool pause_others();
/// The same of one location alone. False: it could not be paused, or another thread pauses locations already.
bool pause_one(Location& location, std::int64_t timeout_ns = pause_timeout_ns);
/// Of both. Does nothing when the calling thread pauses nobody.
void resume_others();

/// Nobody but the caller's thread writes to the location now: it is the caller's own, paused or closed. False: it has
/// begun since the others were paused, and goes on.
bool is_held(const Location& location);

/// Where the thread of a location is whose gate is not open. Waits until it has left Refrain's bookkeeping, but no
/// longer than that: a thread that finds the gate not open is in it for a moment.
Inside wait_outside_bookkeeping(const Location& location, std::int64_t timeout_ns = 10'000'000);

/// How many threads have been measured so far.
std::int64_t threads_measured();

/// Newest first; follow `next`.
Location* first_location();

/// In a forked child: the parent's locations are not ours.
void forget_locations();

/// A location that is in no list, for calibration. Null: no memory.
Location* make_detached_location(const LocationSettings& settings);
/// Frees such a location and everything of it.
void free_detached_location(Location* location);

}  // namespace refrain::measurement

#pragma once
/// All locations of the process: making, ending, closing. Ordinary context only.
///
/// A location outlives its thread: it returns to a pool, and the next new thread continues it. So a program of a
/// million short threads has as many locations as the largest number of threads alive at once. Wall and CPU time of a
/// location are the sums over its threads' lives.

#include <cstddef>
#include <cstdint>

#include "measurement/location.hpp"

namespace refrain::measurement {

struct LocationSettings {
  std::size_t memory;  ///< bytes of call tree
  std::uint32_t callpath_depth;
  unwind::Backend backend;
};

/// A location for the calling thread, from the pool or new. It is not own_location() yet, and `inside` is still Closed.
/// Null: no memory.
Location* begin_location(const LocationSettings& settings);

/// The calling thread begins to be measured, or ceases to. `end_location` returns the location to the pool.
bool enter_location(Location& location);  ///< false: the measurement is ending
void end_location(Location& location);

/// Ends the measurement of a location whose thread may still run; afterwards no thread writes to it. A call in progress
/// is counted with its time so far.
void close_location(Location& location);

/// A thread that stays in Refrain's bookkeeping for longer than this is not paused.
inline constexpr std::int64_t pause_timeout_ns = 50'000'000;

/// Between pause_others() and resume_others() only the caller's thread writes to locations: other threads wait at their
/// entries, and their ticks record nothing. New locations may appear, and must not be touched. False: some thread could
/// not be paused, and none is; or another thread is pausing already.
bool pause_others();
/// The same for one location. False: it could not be paused, or another thread is pausing already.
bool pause_one(Location& location, std::int64_t timeout_ns = pause_timeout_ns);
/// Whether another thread is pausing, so that the calling one cannot.
bool another_is_pausing();
/// Ends both kinds of pause. Does nothing when the calling thread is not pausing.
void resume_others();

/// Whether only the caller's thread may write to the location: it is the caller's own, paused or closed. False: it
/// began after the others were paused, and runs.
bool is_held(const Location& location);

/// Waits until the thread of a location whose gate is not open has left Refrain's bookkeeping, and returns where it is
/// then, or after the timeout. A thread that finds the gate not open is in the bookkeeping for a moment only.
Inside wait_outside_bookkeeping(const Location& location, std::int64_t timeout_ns = 10'000'000);

/// The number of threads measured so far.
std::int64_t threads_measured();

/// Newest first; follow `next`.
Location* first_location();

/// In a forked child: drops the parent's locations.
void forget_locations();

/// A location that is in no list, for calibration. Null: no memory.
Location* make_detached_location(const LocationSettings& settings);
/// Frees such a location with everything that belongs to it.
void free_detached_location(Location* location);

}  // namespace refrain::measurement

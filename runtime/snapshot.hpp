#pragma once
/// What reaches the file system while the program runs: iterations that memory shall not hold, and now and then the
/// whole state of the rank, so that a job killed at any moment leaves an experiment. No communication.

#include "runtime/rank.hpp"

namespace refrain::runtime {

/// From here on snapshots are due every REFRAIN_SNAPSHOT seconds, on every rank at moments of its own. `not_before_ns`:
/// from now on.
void start_snapshots(std::int64_t not_before_ns = 0);
/// While one lives no other thread writes, and none begins to.
class SnapshotsHeld {
 public:
  SnapshotsHeld();
  ~SnapshotsHeld();
  SnapshotsHeld(const SnapshotsHeld&) = delete;
};
/// What this process has written so far, to the experiment `from` of its own, moves to that of all ranks, and `from` is
/// removed. While snapshots are held.
void join_experiment(const char* from);
/// The next MPI call, or end of an iteration, writes a snapshot, if there are any. Async-signal-safe.
void ask_for_snapshot();
/// No more snapshots and no more spilling. What was spilled stays in the file. False: another thread is writing, and
/// has not come to its end for long.
bool stop_snapshots();

/// Writes the state of this rank as it is, for a process that may end at any moment. Threads are held meanwhile, none
/// is closed; calls in progress count as far as they have come, unless the program may go on. On a thread of its own
/// (guest/endings.hpp). False: it was not written.
bool write_as_it_is(Ending ending);

}  // namespace refrain::runtime

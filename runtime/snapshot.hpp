#pragma once
/// Writes to the file system while the program runs: iterations that shall not stay in memory, and now and then the
/// whole state of the rank, so that a job killed at any moment leaves an experiment. No communication.

#include "runtime/rank.hpp"

namespace refrain::runtime {

/// Makes snapshots due every REFRAIN_SNAPSHOT seconds, on each rank at times of its own, the first one at least
/// `not_before_ns` nanoseconds from now.
void start_snapshots(std::int64_t not_before_ns = 0);
/// While an object lives, no other thread writes a snapshot.
class SnapshotsHeld {
 public:
  SnapshotsHeld();
  ~SnapshotsHeld();
  SnapshotsHeld(const SnapshotsHeld&) = delete;
};
/// Moves the files of `from`, the experiment that this process wrote before MPI_Init, into the experiment of all ranks,
/// and removes `from`. Call it while snapshots are held.
void join_experiment(const char* from);
/// Makes a snapshot due at the next MPI call or end of an iteration, if snapshots are enabled. Async-signal-safe.
void ask_for_snapshot();
/// Ends snapshots and spilling. What was spilled stays in the file. False: another thread has been writing for 5 s, or
/// the calling thread was interrupted while it wrote.
bool stop_snapshots();

/// Writes the present state of this rank, for a process that may end at any moment. Other threads are held meanwhile,
/// but none is closed. Calls in progress count up to now, unless the program may go on. Runs on a helper thread
/// (guest/endings.hpp). False: it was not written.
bool write_as_it_is(Ending ending);

}  // namespace refrain::runtime

#pragma once
/// How the adapters tell the composition root (runtime/) what the program does. The root sets the hooks at start; the
/// adapters call them; a null hook means that nothing is measured.

#include <span>

#include "measurement/definitions.hpp"
#include "measurement/peers.hpp"

namespace refrain::measurement {

struct Location;

/// What the root needs of the MPI adapter once MPI runs.
struct MpiAdapter {
  const char* library_version;  ///< as MPI_Get_library_version tells
  /// Traffic refers to windows, these to communicators. They stay where they are; other threads may add more.
  std::span<const CommunicatorRecord> (*communicators)();
  std::span<const WindowRecord> (*windows)();
  std::span<const WindowTraffic> (*window_traffic)();
  Peers peers;
};

struct LifecycleHooks {
  /// The outermost MPI_Init or MPI_Init_thread returned MPI_SUCCESS, or a session's communicator of all processes was
  /// made. Called outside MPI time, inside a measured call if the thread is measured.
  void (*mpi_initialized)(const MpiAdapter& adapter);
  /// In MPI_Init, before that: `rank` has waited long for other ranks to set up the measurement with it. It waits on.
  void (*peers_are_late)(int rank);
  /// MPI_Finalize was called, or MPI_Session_finalize for the last session: everything is written before this returns;
  /// the PMPI function runs afterwards.
  void (*mpi_finalizing)(const MpiAdapter& adapter);
  /// MPI_Abort was called: PMPI_Abort runs afterwards.
  void (*mpi_aborting)();
  /// `snapshot_due` (mpi_call.hpp) has passed. Called at the end of an MPI call or of an iteration, inside a scope.
  void (*snapshot_is_due)(Location& location);
  /// MPI_Pcontrol: nothing is to be recorded from here on, or all is again. Called inside a scope.
  void (*measurement_wanted)(bool wanted);
  /// A location holds more of its iterations in memory than it should (iterations.hpp).
  void (*spill_wanted)(Location& location);
  /// Marks of the program do not match; `what` says how, `site` is the return address of the call that shows it.
  void (*mark_misused)(const char* what, std::uintptr_t site);
  /// The thread of a location ends, or its measurement: no more ticks may come.
  void (*ticks_end)(Location& location);
  /// A thread that the program made begins; it is measured from here to its end, whichever way it ends.
  void (*thread_begins)();
};
extern LifecycleHooks lifecycle;

/// One line on stderr; whether or not this process is measured. Set at the start, for good; null: nobody listens.
extern void (*say)(const char* line);

/// Names of the MPI functions, indexed by RegionId, once one was called: a program may never initialize MPI.
extern std::span<const char* const> mpi_region_names;

}  // namespace refrain::measurement

#pragma once
/// Hooks by which the adapters tell the composition root (runtime/) what the program does. The root sets them at the
/// start, the adapters call them; a null hook means that nothing is measured.

#include <atomic>
#include <span>

#include "measurement/definitions.hpp"
#include "measurement/peers.hpp"

namespace refrain::measurement {

struct Location;

/// What the root needs from the MPI adapter once MPI is initialized.
struct MpiAdapter {
  const char* library_version;  ///< result of MPI_Get_library_version
  /// Traffic refers to windows, and windows to communicators. Records never move; other threads may add more.
  std::span<const CommunicatorRecord> (*communicators)();
  std::span<const WindowRecord> (*windows)();
  std::span<const WindowTraffic> (*window_traffic)();
  Peers peers;
};

/// A function of the root. The root may remove it while other threads are about to call it, so a caller loads it once.
template <class Function>
class Hook {
 public:
  Hook& operator=(Function* function) {
    function_.store(function, std::memory_order_release);
    return *this;
  }
  Hook& operator=(const Hook& other) { return *this = other.function_.load(std::memory_order_relaxed); }
  explicit operator bool() const { return get() != nullptr; }
  Function* get() const { return function_.load(std::memory_order_acquire); }
  /// Calls the function, if there is one.
  template <class... Arguments>
  void operator()(Arguments&&... arguments) const {
    if (Function* const function = get()) function(arguments...);
  }

 private:
  std::atomic<Function*> function_{nullptr};
};

struct LifecycleHooks {
  /// The program is about to initialize MPI, outside of any measured call. A process that has loaded MPI after its
  /// start is measured from here on, so that the call itself is measured.
  Hook<void()> mpi_begins;
  /// The outermost MPI_Init or MPI_Init_thread returned MPI_SUCCESS, or a session's communicator of all processes was
  /// made. Called outside MPI time, inside a measured call if the thread is measured.
  Hook<void(const MpiAdapter& adapter)> mpi_initialized;
  /// Called in MPI_Init, before that: `rank` has waited long for other ranks to set up the measurement, and goes on
  /// waiting.
  Hook<void(int rank)> peers_are_late;
  /// MPI_Finalize was called, or MPI_Session_finalize for the last session: everything is written before this returns;
  /// the PMPI function runs afterwards.
  Hook<void(const MpiAdapter& adapter)> mpi_finalizing;
  /// MPI_Abort was called: PMPI_Abort runs afterwards.
  Hook<void()> mpi_aborting;
  /// `snapshot_due` (mpi_call.hpp) has passed. Called at the end of an MPI call or of an iteration, inside a scope.
  Hook<void(Location& location)> snapshot_is_due;
  /// MPI_Pcontrol: the program stops or resumes the measurement. Called inside a scope.
  Hook<void(bool wanted)> measurement_wanted;
  /// A location holds more of its iterations in memory than it should (iterations.hpp).
  Hook<void(Location& location)> spill_wanted;
  /// Marks of the program do not match. `what` describes the mistake; `site`: return address of the call that shows it.
  Hook<void(const char* what, std::uintptr_t site)> mark_misused;
  /// The thread of a location ends, or its measurement: no ticks may come any more.
  Hook<void(Location& location)> ticks_end;
};
inline LifecycleHooks lifecycle{};

/// Names of the MPI functions, by RegionId. Empty until one is called: a program may never initialize MPI.
inline std::span<const char* const> mpi_region_names;
/// Whether processes can wait for each other in the function, by RegionId; set together with the names.
inline std::span<const bool> mpi_regions_waited_in;

}  // namespace refrain::measurement

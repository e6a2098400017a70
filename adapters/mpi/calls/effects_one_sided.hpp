#pragma once
/// Effects of one-sided operations and of calls that make, name and free windows; conventions in effects.hpp.

#include "adapters/mpi/calls/datatypes.hpp"
#include "adapters/mpi/calls/effects_handles.hpp"
#include "adapters/mpi/identities/telling.hpp"
#include "adapters/mpi/identities/windows.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

/// What an operation moves. A negative number of bytes: nothing in that direction.
struct Moved {
  std::int64_t put, got;
};
inline constexpr std::int64_t nothing_moved = -1;

/// One-sided operations are counted at the origin, by call path and by window and target. They are no messages.
inline void count_one_sided(measurement::MpiCall& call, MPI_Win win, int target, const Moved& moved) {
  if (target == MPI_PROC_NULL) return;
  if (moved.put >= 0) call.sent(0, moved.put);
  if (moved.got >= 0) call.received(0, moved.got);
  if (call.is_recorded() && !count_one_sided(win, target, moved.put, moved.got))
    call.lost(measurement::Loss::WindowTableFull);
}

/// `Operation` has a target, a window, and moved().
template <class Operation>
struct OneSided : Operation {
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    const Moved moved = this->moved();
    count_one_sided(call, this->win, this->target, moved);
    if (call.is_wanted() && this->target != MPI_PROC_NULL)
      tell_one_sided(call, this->win, this->target, moved.put, moved.got);
  }
  void begun(measurement::MpiCall& call, TrackedRequest& request) {
    const Moved moved = this->moved();
    count_one_sided(call, this->win, this->target, moved);
    request.peer = this->target;
    request.communicator = handle_bits(this->win);
    request.bytes_sent = moved.put > 0 ? moved.put : 0;
    request.bytes_received = moved.got > 0 ? moved.got : 0;
    if (this->target != MPI_PROC_NULL) tell_begun_if_wanted(call, &request);
  }
};

/// To the target, or from it.
template <bool is_put>
struct Transfer {
  std::int64_t count;
  MPI_Datatype datatype;
  int target;
  MPI_Win win;
  Moved moved() const {
    const std::int64_t bytes = bytes_of(count, datatype);
    return {is_put ? bytes : nothing_moved, is_put ? nothing_moved : bytes};
  }
};
using Put = OneSided<Transfer<true>>;
using Got = OneSided<Transfer<false>>;

/// With MPI_NO_OP the origin buffer is not used.
struct GetAccumulate {
  std::int64_t count;
  MPI_Datatype datatype;
  std::int64_t result_count;
  MPI_Datatype result_datatype;
  int target;
  MPI_Op op;
  MPI_Win win;
  Moved moved() const {
    return {op != constants.no_op ? bytes_of(count, datatype) : nothing_moved, bytes_of(result_count, result_datatype)};
  }
};
using GotAndPut = OneSided<GetAccumulate>;

struct CompareAndSwap {
  MPI_Datatype datatype;
  int target;
  MPI_Win win;
  Moved moved() const { return {type_size(datatype), type_size(datatype)}; }
};
using Swapped = OneSided<CompareAndSwap>;

struct FetchAndOp {
  MPI_Datatype datatype;
  int target;
  MPI_Op op;
  MPI_Win win;
  Moved moved() const { return {op != constants.no_op ? type_size(datatype) : nothing_moved, type_size(datatype)}; }
};
using Fetched = OneSided<FetchAndOp>;

/// All processes of the window have called it.
struct WindowFenced {
  MPI_Win win;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && call.is_listened_to()) tell_fence(call, win);
  }
};

/// A window, or one target in it: an epoch begins or ends, or operations are completed. Epochs have names of their own,
/// by which the search knows them (offline/trace/functions.cpp).
struct WindowSynchronized {
  MPI_Win win;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && call.is_wanted()) tell_synchronized(call, win, MPI_PROC_NULL, false);
  }
};
using AccessStarted = WindowSynchronized;
using AccessCompleted = WindowSynchronized;
using ExposurePosted = WindowSynchronized;
using ExposureAwaited = WindowSynchronized;
/// MPI_Win_test: an epoch has ended when the flag says so.
struct ExposureTested {
  MPI_Win win;
  const int* flag;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && *flag && call.is_wanted()) tell_synchronized(call, win, MPI_PROC_NULL, false);
  }
};
struct TargetSynchronized {
  int target;
  MPI_Win win;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && call.is_wanted()) tell_synchronized(call, win, target, false);
  }
};
using TargetUnlocked = TargetSynchronized;
struct TargetLocked {
  int lock_type;
  int target;
  MPI_Win win;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && call.is_wanted())
      tell_synchronized(call, win, target, lock_type == MPI_LOCK_EXCLUSIVE);
  }
};

template <measurement::WindowKind kind>
struct WindowMade {
  MPI_Comm comm;
  const MPI_Win* win;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && !define_window(comm, *win, kind)) call.lost(measurement::Loss::WindowTableFull);
  }
};
using WindowCreated = WindowMade<measurement::WindowKind::Created>;
using WindowAllocated = WindowMade<measurement::WindowKind::Allocated>;
using WindowShared = WindowMade<measurement::WindowKind::Shared>;
using WindowDynamic = WindowMade<measurement::WindowKind::Dynamic>;

using WindowFreed = HandleFreed<MPI_Win, forget_window, bind_window>;
using WindowNamed = HandleNamed<MPI_Win, name_window>;

}  // namespace refrain::adapters::mpi

#pragma once
/// Effects of one-sided operations and of calls that make, name and free windows; conventions in effects.hpp.

#include <algorithm>

#include "adapters/mpi/calls/effects_handles.hpp"
#include "adapters/mpi/datatypes.hpp"
#include "adapters/mpi/identities/telling.hpp"
#include "adapters/mpi/identities/windows.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

/// One-sided operations are counted at the origin, by call path and by window and target. They are no messages.
/// Returns the bytes that have moved: 0 in a direction that the operation does not have.
inline Traffic counted_one_sided(measurement::MpiCall& call, MPI_Win win, int target, const Traffic& traffic) {
  const Traffic moved{std::max(traffic.sent, std::int64_t{0}), std::max(traffic.received, std::int64_t{0})};
  if (target == MPI_PROC_NULL) return moved;
  call.moved(moved);
  if (call.is_recorded() && !count_one_sided(win, target, traffic)) call.lost(measurement::Loss::WindowTableFull);
  return moved;
}

/// `Access` has a target, a window, and traffic().
template <class Access>
struct OneSided : Access {
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    const Traffic moved = counted_one_sided(call, this->win, this->target, this->traffic());
    if (call.is_listened_to()) tell_one_sided(call, this->win, this->target, moved);
  }
  void begun(measurement::MpiCall& call, TrackedRequest& request) {
    const Traffic moved = counted_one_sided(call, this->win, this->target, this->traffic());
    request.peer = this->target;
    request.communicator = handle_bits(this->win);
    request.bytes_sent = moved.sent;
    request.bytes_received = moved.received;
    if (this->target != MPI_PROC_NULL) tell_begun_if_wanted(call, &request);
  }
};

/// To the target, or from it.
template <bool is_put>
struct PutOrGet {
  std::int64_t count;
  MPI_Datatype datatype;
  int target;
  MPI_Win win;
  Traffic traffic() const {
    const std::int64_t bytes = bytes_of(count, datatype);
    return {is_put ? bytes : Traffic::none, is_put ? Traffic::none : bytes};
  }
};
using Put = OneSided<PutOrGet<true>>;
using Got = OneSided<PutOrGet<false>>;

/// With MPI_NO_OP the origin buffer is not used.
struct GetAccumulate {
  std::int64_t count;
  MPI_Datatype datatype;
  std::int64_t result_count;
  MPI_Datatype result_datatype;
  int target;
  MPI_Op op;
  MPI_Win win;
  Traffic traffic() const {
    return {op != constants.no_op ? bytes_of(count, datatype) : Traffic::none, bytes_of(result_count, result_datatype)};
  }
};
using GotAndPut = OneSided<GetAccumulate>;

struct CompareAndSwap {
  MPI_Datatype datatype;
  int target;
  MPI_Win win;
  Traffic traffic() const { return {type_size(datatype), type_size(datatype)}; }
};
using Swapped = OneSided<CompareAndSwap>;

struct FetchAndOp {
  MPI_Datatype datatype;
  int target;
  MPI_Op op;
  MPI_Win win;
  Traffic traffic() const { return {op != constants.no_op ? type_size(datatype) : Traffic::none, type_size(datatype)}; }
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
    if (result == MPI_SUCCESS && call.is_listened_to()) tell_synchronized(call, win, MPI_PROC_NULL, false);
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
    if (result == MPI_SUCCESS && *flag && call.is_listened_to()) tell_synchronized(call, win, MPI_PROC_NULL, false);
  }
};
struct TargetSynchronized {
  int target;
  MPI_Win win;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && call.is_listened_to()) tell_synchronized(call, win, target, false);
  }
};
using TargetUnlocked = TargetSynchronized;
struct TargetLocked {
  int lock_type;
  int target;
  MPI_Win win;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    const bool is_exclusive = lock_type == MPI_LOCK_EXCLUSIVE;
    if (result == MPI_SUCCESS && call.is_listened_to()) tell_synchronized(call, win, target, is_exclusive);
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

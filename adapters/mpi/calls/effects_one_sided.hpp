#pragma once
/// Effects of one-sided operations and of calls that make, name and free windows; conventions in effects.hpp.

#include <algorithm>

#include "adapters/mpi/calls/effects_handles.hpp"
#include "adapters/mpi/identities/communications.hpp"
#include "adapters/mpi/identities/windows.hpp"

namespace refrain::adapters::mpi {

/// `Operation` has a target, a window, and traffic() as count_one_sided() takes it. It counts at the origin, by call
/// path and by window and target, but not as a message.
template <class Operation>
struct OneSided : Operation {
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS || this->target == MPI_PROC_NULL) return;
    const Traffic moved = counted(call);
    note_one_sided(call.location(), this->win, this->target, moved);
  }
  void begun(measurement::MpiCall& call, TrackedRequest& request) {
    if (this->target == MPI_PROC_NULL) return;
    const Traffic moved = counted(call);
    request.peer = this->target;
    request.communicator = id_of_window(this->win);
    request.bytes_sent = moved.sent;
    request.bytes_received = moved.received;
    request_begun(call, &request);
  }

 private:
  Traffic counted(measurement::MpiCall& call) const {
    const Traffic traffic = this->traffic();
    if (call.is_recorded() && !count_one_sided(this->win, this->target, traffic))
      call.lost(measurement::Loss::WindowTableFull);
    const Traffic moved{std::max(traffic.sent, std::int64_t{0}), std::max(traffic.received, std::int64_t{0})};
    call.sent(0, moved.sent);
    call.received(0, moved.received);
    return moved;
  }
};

/// A transfer in one direction: to the target or from it.
template <bool is_put>
struct OneWay {
  std::int64_t count;
  MPI_Datatype datatype;
  int target;
  MPI_Win win;
  Traffic traffic() const {
    const std::int64_t bytes = bytes_of(count, datatype);
    return is_put ? Traffic{bytes, no_transfer} : Traffic{no_transfer, bytes};
  }
};
using Put = OneSided<OneWay<true>>;
using Got = OneSided<OneWay<false>>;

/// With MPI_NO_OP the origin buffer is not used.
struct GetAccumulate {
  std::int64_t origin_count;
  MPI_Datatype origin_datatype;
  std::int64_t result_count;
  MPI_Datatype result_datatype;
  int target;
  MPI_Op op;
  MPI_Win win;
  Traffic traffic() const {
    return {op != constants.no_op ? bytes_of(origin_count, origin_datatype) : no_transfer,
            bytes_of(result_count, result_datatype)};
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
  Traffic traffic() const { return {op != constants.no_op ? type_size(datatype) : no_transfer, type_size(datatype)}; }
};
using Fetched = OneSided<FetchAndOp>;

/// MPI_Win_fence, which all processes of the window have called.
struct WindowFenced {
  MPI_Win win;
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS) note_fence(call.location(), win);
  }
};

/// Synchronizes a window, or one target in it: an epoch begins or ends, or operations are completed. The aliases name
/// the epochs for the search (offline/trace/functions.cpp).
struct WindowSynchronized {
  MPI_Win win;
  int target = MPI_PROC_NULL;
  int lock_type = MPI_LOCK_SHARED;
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS) note_synchronized(call.location(), win, target, lock_type == MPI_LOCK_EXCLUSIVE);
  }
};
using AccessStarted = WindowSynchronized;
using AccessCompleted = WindowSynchronized;
using ExposurePosted = WindowSynchronized;
using ExposureAwaited = WindowSynchronized;
using TargetSynchronized = WindowSynchronized;
using TargetLocked = WindowSynchronized;
using TargetUnlocked = WindowSynchronized;
/// MPI_Win_test: an epoch has ended if the flag says so.
struct ExposureTested {
  MPI_Win win;
  const int* flag;
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && *flag) WindowSynchronized{win}.after(call, result);
  }
};

template <measurement::WindowKind kind>
struct WindowMade {
  MPI_Comm comm;
  const MPI_Win* win;
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

#pragma once
/// What a completed MPI call adds to its call path. One class per row "effect" of functions.table; the generated
/// wrappers make the object from the arguments and call
///   before()             in the scope, before the clock starts
///   after(call, result)  in the scope, after the clock has stopped
///   begun(call, request) instead of it, where the call has begun a request (Begun): the operation is counted, and told
///                        with the request
/// Neither is called when the call is not measured; the constructor must then leave the call as it is.
///
/// Conventions: an operation counts when it returned MPI_SUCCESS. A message is a point-to-point message; MPI_PROC_NULL
/// moves none. Bytes are those sent, or those really received.

#include "adapters/mpi/effects_communicators.hpp"
#include "adapters/mpi/effects_messages.hpp"
#include "adapters/mpi/effects_one_sided.hpp"
#include "adapters/mpi/effects_requests.hpp"
#include "adapters/mpi/traffic.hpp"
#include "measurement/call_durations.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

/// A visit and its time are all.
struct Visited {
  void before() {}
  void after(measurement::MpiCall&, int) {}
  void begun(measurement::MpiCall& call, TrackedRequest& request) { tell_begun_if_wanted(call, &request); }
};

template <class Operation>
int root_of(const Operation& operation) {
  if constexpr (requires { operation.root; }) return operation.root;
  return without_root;
}

/// Keeps with the request of a collective operation what is told of it when it is begun and when it completes.
template <class Operation>
void set_operation(TrackedRequest& request, const Operation& operation, const Traffic& traffic) {
  request.peer = root_of(operation);
  request.communicator = handle_bits(operation.comm);
  request.bytes_sent = traffic.sent;
  request.bytes_received = traffic.received;
}

/// A collective operation, blocking or not: counted by the call that begins it.
template <class Operation>
struct Counted {
  Operation operation;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return fail_collective(operation.comm);
    const Traffic traffic = count(call);
    if (measurement::durations_are_noted.load(std::memory_order_relaxed)) [[likely]]
      note_processes(call);
    if (call.is_listened_to()) tell_collective(call, operation.comm, root_of(operation), traffic);
  }
  void begun(measurement::MpiCall& call, TrackedRequest& request) {
    set_operation(request, operation, count(call));
    tell_begun_if_wanted(call, &request);
  }

 private:
  Traffic count(measurement::MpiCall& call) const {
    const Traffic traffic = operation.traffic();
    call.sent(0, traffic.sent);
    call.received(0, traffic.received);
    return traffic;
  }
  /// Of an intercommunicator those of this side.
  void note_processes(measurement::MpiCall& call) const {
    int processes = 0;
    if (pmpi.Comm_size(operation.comm, &processes) == MPI_SUCCESS) call.among(processes);
  }
};
template <class Operation>
Counted(Operation) -> Counted<Operation>;

/// A persistent collective operation: counted whenever it is started.
template <class Operation>
struct Prepared {
  Operation operation;
  MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    if (TrackedRequest* tracked = track_persistent(call, *request, RequestKind::Collective))
      set_operation(*tracked, operation, operation.traffic());
  }
};
template <class Operation>
Prepared(Operation, MPI_Request*) -> Prepared<Operation>;

/// Files: what the status of a completed call tells.
template <measurement::MetricId metric>
struct FileMoved {
  CallStatus status;
  explicit FileMoved(MPI_Status*& argument) : status(argument) {}
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    const std::int64_t bytes = told_bytes(call, *status);
    call.io(metric, bytes);
    if (call.is_wanted()) tell_access(call, metric, bytes);
  }
};
using FileRead = FileMoved<measurement::MetricId::BytesRead>;
using FileWritten = FileMoved<measurement::MetricId::BytesWritten>;

}  // namespace refrain::adapters::mpi

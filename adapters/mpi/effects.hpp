#pragma once
/// What a completed MPI call adds to its call path. One class per row "effect" of functions.table; the generated
/// wrappers make the object from the arguments and call
///   before()             in the scope, before the clock starts
///   after(call, result)  in the scope, after the clock has stopped
/// Neither is called when the call is not measured; the constructor must then leave the call as it is.
///
/// Conventions: an operation counts when it returned MPI_SUCCESS. A message is a point-to-point message; MPI_PROC_NULL
/// moves none. Bytes are those sent, or those really received.

#include "adapters/mpi/effects_communicators.hpp"
#include "adapters/mpi/effects_messages.hpp"
#include "adapters/mpi/effects_one_sided.hpp"
#include "adapters/mpi/effects_requests.hpp"
#include "adapters/mpi/traffic.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

/// A visit and its time are all.
struct Visited {
  void before() {}
  void after(measurement::MpiCall&, int) {}
};

/// A collective operation, blocking or not: counted by the call that begins it.
template <class Operation>
struct Counted {
  Operation operation;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    const Traffic traffic = operation.traffic();
    call.sent(0, traffic.sent);
    call.received(0, traffic.received);
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
    const Traffic traffic = operation.traffic();
    track_persistent(call, *request, RequestKind::Collective, traffic.sent, traffic.received);
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
    if (result == MPI_SUCCESS) call.io(metric, told_bytes(call, *status));
  }
};
using FileRead = FileMoved<measurement::MetricId::BytesRead>;
using FileWritten = FileMoved<measurement::MetricId::BytesWritten>;

}  // namespace refrain::adapters::mpi

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

#include "adapters/mpi/calls/effects_communicators.hpp"
#include "adapters/mpi/calls/effects_messages.hpp"
#include "adapters/mpi/calls/effects_one_sided.hpp"
#include "adapters/mpi/calls/traffic.hpp"
#include "adapters/mpi/requests/effects_requests.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

/// A visit and its time are all.
struct Visited {
  void before() {}
  void after(measurement::MpiCall&, int) {}
  void begun(measurement::MpiCall& call, TrackedRequest& request) { tell_begun_if_wanted(call, &request); }
};

/// Keeps with the request of a collective operation what is told of it when it is begun and when it completes.
inline void set_operation(TrackedRequest& request, const Collective& operation, const Traffic& traffic) {
  request.peer = operation.root;
  request.communicator = handle_bits(operation.comm);
  request.bytes_sent = traffic.sent;
  request.bytes_received = traffic.received;
}

/// A collective operation, blocking or not: counted by the call that begins it.
struct Counted {
  Collective operation;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return fail_collective(operation.comm);
    const Participants participants = operation.participants();
    const Traffic traffic = count(call, participants);
    call.among(participants.local);
    if (call.is_listened_to()) tell_collective(call, operation.comm, operation.root, traffic);
  }
  void begun(measurement::MpiCall& call, TrackedRequest& request) {
    set_operation(request, operation, count(call, operation.participants()));
    tell_begun_if_wanted(call, &request);
  }

 private:
  Traffic count(measurement::MpiCall& call, const Participants& participants) const {
    const Traffic traffic = operation.traffic(participants);
    call.sent(0, traffic.sent);
    call.received(0, traffic.received);
    return traffic;
  }
};

/// A persistent collective operation: counted whenever it is started.
struct Prepared {
  Collective operation;
  MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    if (TrackedRequest* tracked = track_persistent(call, *request, RequestKind::Collective))
      set_operation(*tracked, operation, operation.traffic(operation.participants()));
  }
};

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

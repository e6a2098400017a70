#pragma once
/// The effects of completed MPI calls on their call paths. One class per row "effect" of functions.table; the generated
/// wrappers make the object from the arguments and call
///   before()             in the scope, before the clock starts
///   after(call, result)  in the scope, after the clock has stopped
///   begun(call, request) instead of it, where the call has begun a request (Begun): the operation is counted, and told
///                        with the request
/// Neither is called when the call is not measured; the constructor must then leave the call as it is.
///
/// Conventions: an operation counts when it returned MPI_SUCCESS. A message is a point-to-point message; MPI_PROC_NULL
/// moves none. Bytes are those sent, or those really received.

#include "adapters/mpi/calls/effects_collective.hpp"
#include "adapters/mpi/calls/effects_communicators.hpp"
#include "adapters/mpi/calls/effects_messages.hpp"
#include "adapters/mpi/calls/effects_one_sided.hpp"
#include "adapters/mpi/calls/effects_requests.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

/// A visit and its time are all.
struct Visited {
  void before() {}
  void after(measurement::MpiCall&, int) {}
  void begun(measurement::MpiCall& call, TrackedRequest& request) { tell_begun_if_wanted(call, &request); }
};

/// Files: by the status of the completed call.
template <events::Kind kind>
struct FileMoved {
  CallStatus status;
  explicit FileMoved(MPI_Status*& argument) : status(argument) {}
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    const std::int64_t bytes = told_bytes(call, *status);
    call.io(kind == events::Kind::Read ? measurement::MetricId::BytesRead : measurement::MetricId::BytesWritten, bytes);
    if (call.is_listened_to()) tell_access(call, kind, bytes);
  }
};
using FileRead = FileMoved<events::Kind::Read>;
using FileWritten = FileMoved<events::Kind::Write>;

}  // namespace refrain::adapters::mpi

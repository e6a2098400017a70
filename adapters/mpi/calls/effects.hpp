#pragma once
/// Effects: what a completed MPI call adds to its call path. There is one class per word in the column "effect" of
/// functions.table. The generated wrappers make the object from the arguments and call
///   before()             inside the scope, before the clock is read, if there is such a function
///   after(call, result)  inside the scope, after the clock is read
///   begun(call, request) instead of after(), if the call has begun a request (Begun): the operation counts here
/// None of these is called if the call is not measured; the constructor must then leave the arguments unchanged.
///
/// Conventions: an operation counts if it returned MPI_SUCCESS. A message is a point-to-point message; MPI_PROC_NULL
/// moves none. Bytes are *sent*, or *received*: the bytes that really arrived. A put sends, a get receives. Files are
/// *read* and *written*.

#include "adapters/mpi/calls/effects_communicators.hpp"
#include "adapters/mpi/calls/effects_messages.hpp"
#include "adapters/mpi/calls/effects_one_sided.hpp"
#include "adapters/mpi/calls/traffic.hpp"
#include "adapters/mpi/requests/effects_requests.hpp"

namespace refrain::adapters::mpi {

/// Runs before() of an effect that has one.
template <class Effect>
[[gnu::always_inline]] inline void run_before(Effect& effect) {
  if constexpr (requires { effect.before(); }) effect.before();
}

/// A call that begins a request besides its own effect.
template <class Effect>
struct Begun {
  Effect effect;
  const MPI_Request* request;
  events::Kind kind;
  void before() { run_before(effect); }
  void after(measurement::MpiCall& call, int result) {
    TrackedRequest* tracked = result == MPI_SUCCESS ? track(call, *request, kind) : nullptr;
    if (tracked) effect.begun(call, *tracked);
    else effect.after(call, result);
  }
};
template <class Effect>
Begun(Effect, const MPI_Request*, events::Kind) -> Begun<Effect>;

/// A call that is counted only with its visit and its time.
struct Visited {
  void after(measurement::MpiCall&, int) {}
  void begun(measurement::MpiCall& call, TrackedRequest& request) { request_begun(call, &request); }
};

/// Keeps with the request of a collective operation what is noted when it begins and when it completes.
inline void set_operation(TrackedRequest& request, const Collective& operation, Traffic traffic) {
  request.peer = rank_of_root(operation.root);
  request.communicator = id_of_communicator(operation.comm);
  request.bytes_sent = traffic.sent;
  request.bytes_received = traffic.received;
}

/// A collective operation, blocking or not. It counts at the call that begins it.
struct Counted {
  Collective operation;
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return fail_collective(operation.comm);
    const Participants participants = operation.participants();
    const Traffic traffic = count(call, participants);
    call.among(participants.local);
    if (call.keeps_events()) note_collective(call.location(), operation.comm, operation.root, traffic);
  }
  void begun(measurement::MpiCall& call, TrackedRequest& request) {
    set_operation(request, operation, count(call, operation.participants()));
    request_begun(call, &request);
  }

 private:
  Traffic count(measurement::MpiCall& call, const Participants& participants) const {
    const Traffic traffic = operation.traffic(participants);
    call.sent(0, traffic.sent);
    call.received(0, traffic.received);
    return traffic;
  }
};

/// A persistent collective operation. It counts at every start.
struct Prepared {
  Collective operation;
  const MPI_Request* request;
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    if (TrackedRequest* tracked = track(call, *request, events::Kind::Collective)) {
      tracked->persistent = true;
      set_operation(*tracked, operation, operation.traffic(operation.participants()));
    }
  }
};

/// An access to a file. The bytes are those in the status of the completed call.
template <events::Kind kind>
struct FileAccessed {
  CallStatus status;
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    const std::int64_t bytes = bytes_of(call, *status);
    call.io(metric_of_access(kind), bytes);
    note_access(call.location(), kind, bytes);
  }
};
using FileRead = FileAccessed<events::Kind::Read>;
using FileWritten = FileAccessed<events::Kind::Write>;

}  // namespace refrain::adapters::mpi

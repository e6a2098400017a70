#pragma once
/// Requests of the program in the request table.

#include "adapters/mpi/calls/datatypes.hpp"
#include "adapters/mpi/library.hpp"
#include "adapters/mpi/requests/request_table.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

/// Notes that `request` was begun by this call.
inline void begun_by(measurement::MpiCall& call, TrackedRequest& request) {
  request.begun = call.here();
  request.number = call.number_of_request();
  request.active = true;
}

/// Begins to track `request`, not yet active. Null when that cannot be; the loss is then counted.
inline TrackedRequest* track_inactive(measurement::MpiCall& call, MPI_Request request, RequestKind kind) {
  if (request == constants.empty_request) return nullptr;  // complete already, and shared
  TrackedRequest* tracked = request_table.add(handle_bits(request), kind);
  if (!tracked) call.lost(measurement::Loss::RequestTableFull);
  return tracked;
}

/// Begins to track `request`, which this call has begun.
inline TrackedRequest* track(measurement::MpiCall& call, MPI_Request request, RequestKind kind) {
  TrackedRequest* tracked = track_inactive(call, request, kind);
  if (tracked) begun_by(call, *tracked);
  return tracked;
}

/// Who exchanges a message with whom.
struct Partner {
  int peer, tag;
  MPI_Comm comm;
};
/// As records have them.
inline std::int32_t rank_or_any(int peer) {
  return peer == MPI_ANY_SOURCE ? events::any_peer : peer == MPI_PROC_NULL ? events::no_peer : peer;
}
inline std::int32_t tag_or_any(int tag) { return tag == MPI_ANY_TAG ? events::any_tag : tag; }

inline TrackedRequest* set_partner(TrackedRequest* tracked, const Partner& partner) {
  if (!tracked) return nullptr;
  tracked->peer = partner.peer;
  tracked->tag = partner.tag;
  tracked->communicator = handle_bits(partner.comm);
  return tracked;
}

/// Begins to track a persistent request; what it moves is counted whenever it is started, or completes.
inline TrackedRequest* track_persistent(measurement::MpiCall& call, MPI_Request request, RequestKind kind) {
  TrackedRequest* tracked = track_inactive(call, request, kind);
  if (tracked) tracked->persistent = true;
  return tracked;
}

}  // namespace refrain::adapters::mpi

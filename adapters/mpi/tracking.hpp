#pragma once
/// Requests of the program in the request table.

#include "adapters/mpi/datatypes.hpp"
#include "adapters/mpi/library.hpp"
#include "adapters/mpi/request_table.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

/// Begins to track `request`. Null when that cannot be; the loss is then counted.
inline TrackedRequest* track(measurement::MpiCall& call, MPI_Request request, RequestKind kind) {
  if (request == constants.empty_request) return nullptr;  // complete already, and shared
  TrackedRequest* tracked = request_table.add(handle_bits(request), kind);
  if (!tracked) call.lost(measurement::Loss::RequestTableFull);
  return tracked;
}

/// A persistent send or collective operation, counted at every start.
inline void track_operation(measurement::MpiCall& call, MPI_Request request, std::int64_t messages, std::int64_t sent,
                            std::int64_t received) {
  TrackedRequest* tracked = track(call, request, RequestKind::PersistentOperation);
  if (!tracked) return;
  tracked->messages_sent = messages;
  tracked->bytes_sent = sent;
  tracked->bytes_received = received;
}

}  // namespace refrain::adapters::mpi

#include "adapters/mpi/requests/effects_requests.hpp"

namespace refrain::adapters::mpi {

using measurement::MetricId;

constinit std::atomic<bool> program_cancels{false};

namespace {

/// Only requests of messages and generalized requests can be cancelled: of others Open MPI leaves that field of the
/// status as it was.
bool was_cancelled(RequestKind kind, const MPI_Status& status) {
  const bool can_be = kind == RequestKind::Send || kind == RequestKind::Receive || kind == RequestKind::UntoldReceive ||
                      kind == RequestKind::Generalized;
  int cancelled = 0;
  return can_be && program_cancels.load(std::memory_order_relaxed) &&
         pmpi.Test_cancelled(&status, &cancelled) == MPI_SUCCESS && cancelled;
}

/// Bytes that were received, read or written.
std::int64_t count_completion(measurement::MpiCall& call, const TrackedRequest& request, const MPI_Status& status) {
  std::int64_t bytes = 0;
  switch (request.kind) {
    case RequestKind::Receive:
      if (status.MPI_SOURCE == MPI_PROC_NULL) break;
      bytes = told_bytes(call, status);
      call.completed_receive(request.begun, 1, bytes);
      break;
    case RequestKind::UntoldReceive:
      call.completed_receive(request.begun, 1, 0);
      call.moved_unknown();
      call.lost(measurement::Loss::UnknownReceive);
      break;
    case RequestKind::FileRead:
      bytes = told_bytes(call, status);
      call.completed_io(request.begun, MetricId::BytesRead, bytes);
      break;
    case RequestKind::FileWrite:
      bytes = told_bytes(call, status);
      call.completed_io(request.begun, MetricId::BytesWritten, bytes);
      break;
    case RequestKind::Send: call.completed_send(request.bytes_sent); break;
    case RequestKind::Collective: call.completed_collective(request.bytes_sent + request.bytes_received); break;
    case RequestKind::Communicator:
    case RequestKind::OneSided:
    case RequestKind::Generalized: break;
  }
  return bytes;
}

/// It is forgotten, or inactive when it is persistent.
void retire(TrackedRequest& request) {
  if (!request.persistent) return request_table.release(request);
  request.active = false;
  request_table.return_claim(request);
}

}  // namespace

void complete(measurement::MpiCall& call, TrackedRequest& request, const MPI_Status& status) {
  if (request.active) {
    const bool cancelled = was_cancelled(request.kind, status);
    const std::int64_t bytes = cancelled ? 0 : count_completion(call, request, status);
    if (call.is_listened_to()) tell_completed(call, request, status, bytes, cancelled);
  }
  retire(request);
}

void retire_failed(measurement::MpiCall& call, TrackedRequest& request) {
  if (call.is_listened_to()) give_up_number(call, request);
  retire(request);
}

void start(measurement::MpiCall& call, TrackedRequest& claimed, MPI_Request request) {
  TrackedRequest* tracked = request_table.move(claimed, handle_bits(request));
  if (!tracked) return call.lost(measurement::Loss::RequestTableFull);
  begun_by(call, *tracked);
  if (tracked->kind != RequestKind::Receive) {
    call.sent(tracked->kind == RequestKind::Send, tracked->bytes_sent);
    call.received(0, tracked->bytes_received);
  }
  tell_begun_if_wanted(call, tracked);
  request_table.return_claim(*tracked);
}

bool ClaimedArray::claim() {
  if (count_ > at_hand) {
    if (!scratch_.take(count_)) return false;
    claimed_ = scratch_.requests();
  }
  bool any = false;
  for (int i = 0; i < count_; ++i) {
    claimed_[i] = request_table.claim(handle_bits(requests_[i]));
    any |= claimed_[i] != nullptr;
  }
  return any;
}

void ClaimedArray::ended(measurement::MpiCall& call, int i, const MPI_Status& status) {
  if (!claimed_[i] || status.MPI_ERROR == MPI_ERR_PENDING) return;
  if (status.MPI_ERROR == MPI_SUCCESS) return completed(call, i, status);
  retire_failed(call, *claimed_[i]);
  claimed_[i] = nullptr;
}

void ClaimedArray::return_others() {
  for (int i = 0; i < count_; ++i)
    if (claimed_[i]) request_table.return_claim(*claimed_[i]);
}

void ClaimedArray::retire_ended(measurement::MpiCall& call) {
  for (int i = 0; i < count_; ++i) {
    if (!claimed_[i] || RequestTable::is_of(*claimed_[i], handle_bits(requests_[i]))) continue;
    retire_failed(call, *claimed_[i]);
    claimed_[i] = nullptr;
  }
}

void TestedAll::after(measurement::MpiCall& call, int result) {
  if (!any) return;
  if (result == MPI_ERR_IN_STATUS) {
    for (int i = 0; i < count; ++i) claimed.ended(call, i, statuses[i]);
  } else if (result == MPI_SUCCESS && (!flag || *flag)) {
    if (call.is_listened_to())
      for (int i = 0; i < count; ++i) claimed.resolve(call, i, statuses[i]);
    for (int i = 0; i < count; ++i) claimed.completed(call, i, statuses[i]);
  } else if (result != MPI_SUCCESS) {
    claimed.retire_ended(call);
  }
  claimed.return_others();
}

void TestedAny::after(measurement::MpiCall& call, int result) {
  if (!any) return;
  if (result == MPI_SUCCESS && (!flag || *flag) && *index != MPI_UNDEFINED) claimed.completed(call, *index, *status);
  if (result != MPI_SUCCESS) claimed.retire_ended(call);
  claimed.return_others();
}

void WaitedSome::after(measurement::MpiCall& call, int result) {
  if (!any) return;
  if ((result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS) && *outcount != MPI_UNDEFINED) {
    if (result == MPI_SUCCESS && call.is_listened_to())
      for (int i = 0; i < *outcount; ++i) claimed.resolve(call, indices[i], statuses[i]);
    for (int i = 0; i < *outcount; ++i) {
      if (result == MPI_SUCCESS) {
        claimed.completed(call, indices[i], statuses[i]);
      } else {
        claimed.ended(call, indices[i], statuses[i]);
      }
    }
  } else if (result != MPI_SUCCESS) {
    claimed.retire_ended(call);
  }
  claimed.return_others();
}

}  // namespace refrain::adapters::mpi

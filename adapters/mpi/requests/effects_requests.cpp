#include "adapters/mpi/requests/effects_requests.hpp"

namespace refrain::adapters::mpi {

using events::Kind;
using measurement::MpiCall;

constinit std::atomic<bool> program_cancels{false};

namespace {

/// Only requests of messages and generalized requests can be cancelled. For others Open MPI leaves that field of the
/// status unset.
bool was_cancelled(Kind kind, const MPI_Status& status) {
  int cancelled = 0;
  return program_cancels.load(std::memory_order_relaxed) && (events::is_message(kind) || kind == Kind::Generalized) &&
         pmpi.Test_cancelled(&status, &cancelled) == MPI_SUCCESS && cancelled;
}

/// Counts a completed operation. Returns the bytes received, read or written.
std::int64_t count_completion(MpiCall& call, const TrackedRequest& request, const MPI_Status& status) {
  std::int64_t bytes = 0;
  switch (request.kind) {
    case Kind::Receive:
      if (request.untold) {
        call.completed_receive(request.begun, 0);
        call.received_unknown();
        call.lost(measurement::Loss::UnknownReceive);
      } else if (status.MPI_SOURCE != MPI_PROC_NULL) {
        bytes = bytes_of(call, status);
        call.completed_receive(request.begun, bytes);
      }
      break;
    case Kind::Read:
    case Kind::Write:
      bytes = bytes_of(call, status);
      call.completed_io(request.begun, metric_of_access(request.kind), bytes);
      break;
    case Kind::Send: call.completed_send(request.bytes_sent); break;
    case Kind::Collective: call.completed_collective(request.bytes_sent + request.bytes_received); break;
    default: break;
  }
  return bytes;
}

/// Forgets a request, or makes it inactive if it is persistent.
void retire(TrackedRequest& request) {
  if (!request.persistent) return request_table.release(request);
  request.active = false;
  request_table.return_claim(request);
}

}  // namespace

void complete(MpiCall& call, TrackedRequest& request, const MPI_Status& status) {
  if (request.active) {
    const bool cancelled = was_cancelled(request.kind, status);
    const std::int64_t bytes = cancelled ? 0 : count_completion(call, request, status);
    if (call.keeps_events()) note_completed(call.location(), request, status, bytes, cancelled);
  }
  retire(request);
}

void retire_failed(MpiCall& call, TrackedRequest& request) {
  note_given_up(call.location(), request);
  retire(request);
}

void start(MpiCall& call, TrackedRequest& claimed, MPI_Request request) {
  TrackedRequest* tracked = request_table.move(claimed, handle_bits(request));
  if (!tracked) return call.lost(measurement::Loss::RequestTableFull);
  if (tracked->kind != Kind::Receive) {
    call.sent(tracked->kind == Kind::Send, tracked->bytes_sent);
    call.received(0, tracked->bytes_received);
  }
  request_begun(call, tracked);
  request_table.return_claim(*tracked);
}

bool ClaimedArray::claim() {
  if (count_ > at_hand) {
    if (!scratch_.take(count_)) return false;
    claimed_ = scratch_.requests();
  }
  for (int i = 0; i < count_; ++i) {
    claimed_[i] = request_table.claim(handle_bits(requests_[i]));
    any_ |= claimed_[i] != nullptr;
  }
  return any_;
}

void ClaimedArray::claim_channels() {
  for (int i = 0; i < count_; ++i)
    if (claimed_[i]) claim_channel(*claimed_[i]);
}

void ClaimedArray::start_all(MpiCall& call, int result) {
  if (!any_) return;
  for (int i = 0; i < count_ && result == MPI_SUCCESS; ++i) {
    if (claimed_[i]) start(call, *claimed_[i], requests_[i]);
    claimed_[i] = nullptr;
  }
  return_others();
}

void ClaimedArray::end(MpiCall& call, int result, int n, const int* indices, const MPI_Status* statuses) {
  if (!any_) return;
  const auto index = [indices](int i) { return indices ? indices[i] : i; };
  if (result == MPI_SUCCESS && has_waiting_receives())
    for (int i = 0; i < n; ++i)
      if (claimed_[index(i)]) note_status(call.location(), *claimed_[index(i)], statuses[i]);
  if (result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS) {
    for (int i = 0; i < n; ++i) {
      TrackedRequest*& claimed = claimed_[index(i)];
      if (!claimed || (result != MPI_SUCCESS && statuses[i].MPI_ERROR == MPI_ERR_PENDING)) continue;
      if (result == MPI_SUCCESS || statuses[i].MPI_ERROR == MPI_SUCCESS) complete(call, *claimed, statuses[i]);
      else retire_failed(call, *claimed);
      claimed = nullptr;
    }
  } else {
    for (int i = 0; i < count_; ++i) {
      if (!claimed_[i] || RequestTable::has_handle(*claimed_[i], handle_bits(requests_[i]))) continue;
      retire_failed(call, *claimed_[i]);
      claimed_[i] = nullptr;
    }
  }
  return_others();
}

void ClaimedArray::return_others() {
  for (int i = 0; i < count_; ++i)
    if (claimed_[i]) request_table.return_claim(*claimed_[i]);
}

}  // namespace refrain::adapters::mpi

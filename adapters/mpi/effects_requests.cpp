#include "adapters/mpi/effects_requests.hpp"

#include "adapters/mpi/communicators.hpp"

namespace refrain::adapters::mpi {

void complete(measurement::MpiCall& call, TrackedRequest& request, const MPI_Status& status) {
  switch (request.kind) {
    case RequestKind::Receive:
    case RequestKind::PersistentReceive: {
      const bool begun = request.kind == RequestKind::Receive || request.active;
      int cancelled = 0;
      if (begun && pmpi.Test_cancelled(&status, &cancelled) == MPI_SUCCESS && !cancelled) count_receive(call, status);
      break;
    }
    case RequestKind::UntoldReceive:
      call.received(1, 0);
      call.lost(measurement::Loss::UnknownReceive);
      break;
    case RequestKind::PersistentOperation: break;
    case RequestKind::Communicator:
      bind_communicator(request.communicator, *static_cast<MPI_Comm*>(request.communicator_handle));
      break;
  }
  retire(request);
}

void retire(TrackedRequest& request) {
  const bool persistent =
      request.kind == RequestKind::PersistentReceive || request.kind == RequestKind::PersistentOperation;
  if (!persistent) return request_table.release(request);
  request.active = false;
  request_table.return_claim(request);
}

void start(measurement::MpiCall& call, MPI_Request request) {
  TrackedRequest* tracked = request_table.find(handle_bits(request));
  if (!tracked) return;
  tracked->active = true;
  call.sent(tracked->messages_sent, tracked->bytes_sent);
  call.received(0, tracked->bytes_received);
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
  retire(*claimed_[i]);
  claimed_[i] = nullptr;
}

void ClaimedArray::return_others() {
  for (int i = 0; i < count_; ++i)
    if (claimed_[i]) request_table.return_claim(*claimed_[i]);
}

void TestedAll::after(measurement::MpiCall& call, int result) {
  if (!any) return;
  if (result == MPI_ERR_IN_STATUS) {
    for (int i = 0; i < count; ++i) claimed.ended(call, i, statuses[i]);
  } else if (result == MPI_SUCCESS && (!flag || *flag)) {
    for (int i = 0; i < count; ++i) claimed.completed(call, i, statuses[i]);
  }
  claimed.return_others();
}

void TestedAny::after(measurement::MpiCall& call, int result) {
  if (!any) return;
  if (result == MPI_SUCCESS && (!flag || *flag) && *index != MPI_UNDEFINED) claimed.completed(call, *index, *status);
  claimed.return_others();
}

void WaitedSome::after(measurement::MpiCall& call, int result) {
  if (!any) return;
  if ((result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS) && *outcount != MPI_UNDEFINED) {
    for (int i = 0; i < *outcount; ++i) {
      if (result == MPI_SUCCESS) {
        claimed.completed(call, indices[i], statuses[i]);
      } else {
        claimed.ended(call, indices[i], statuses[i]);
      }
    }
  }
  claimed.return_others();
}

}  // namespace refrain::adapters::mpi

#include "adapters/mpi/telling.hpp"

#include "adapters/mpi/communicators.hpp"
#include "adapters/mpi/windows.hpp"

namespace refrain::adapters::mpi {

using measurement::Communication;
using measurement::MetricId;
using measurement::MpiCall;
using Kind = Communication::Kind;
using Phase = Communication::Phase;

namespace {

std::int32_t rank_of_root(int root) {
  return root == MPI_ROOT ? measurement::this_side : root == MPI_PROC_NULL ? measurement::no_peer : root;
}

Kind kind_of(RequestKind kind) {
  switch (kind) {
    case RequestKind::Send: return Kind::Send;
    case RequestKind::Receive:
    case RequestKind::UntoldReceive: return Kind::Receive;
    case RequestKind::Collective: return Kind::Collective;
    case RequestKind::OneSided: return Kind::OneSided;
    case RequestKind::FileRead: return Kind::Read;
    case RequestKind::FileWrite: return Kind::Write;
    case RequestKind::Communicator: return Kind::Communicator;
    case RequestKind::Generalized: break;
  }
  return Kind::Generalized;
}

/// What is known of the request alone.
Communication of_request(const TrackedRequest& r, Phase phase) {
  const Kind kind = kind_of(r.kind);
  const bool is_message = kind == Kind::Send || kind == Kind::Receive;
  Communication c{.kind = kind,
                  .phase = phase,
                  .peer = is_message ? rank_or_any(r.peer) : measurement::no_peer,
                  .tag = is_message ? tag_or_any(r.tag) : measurement::any_tag,
                  .communicator = measurement::unknown_communicator,
                  .request = r.number,
                  .begun = r.begun,
                  .bytes_sent = kind == Kind::Receive ? 0 : r.bytes_sent,
                  .bytes_received = kind == Kind::Receive ? 0 : r.bytes_received};
  if (kind == Kind::Collective) c.peer = rank_of_root(r.peer);
  if (kind == Kind::OneSided) {
    c.peer = r.peer;
    c.communicator = id_of_window(handle_of<MPI_Win>(r.communicator));
  } else {
    c.communicator = communicator_of(r);
  }
  return c;
}

Communication whole(const MpiCall& call, Kind kind) {
  return {.kind = kind,
          .phase = Phase::Whole,
          .peer = measurement::no_peer,
          .tag = measurement::any_tag,
          .communicator = measurement::unknown_communicator,
          .request = measurement::no_request,
          .begun = call.here(),
          .bytes_sent = 0,
          .bytes_received = 0};
}

}  // namespace

void tell_sent(MpiCall call, Partner to, std::int64_t bytes) {
  if (to.peer == MPI_PROC_NULL) return;
  Communication c = whole(call, Kind::Send);
  c.peer = to.peer;
  c.tag = to.tag;
  c.communicator = id_of_communicator(to.comm);
  c.bytes_sent = bytes;
  c.number = number_message(call, c.communicator, to.peer, to.tag, false);
  if (call.is_recorded()) call.tell(c);
}

void tell_received(MpiCall call, const MPI_Status& status, MPI_Comm comm, std::int64_t bytes) {
  if (status.MPI_SOURCE == MPI_PROC_NULL) return;
  Communication c = whole(call, Kind::Receive);
  c.peer = status.MPI_SOURCE;
  c.tag = status.MPI_TAG;
  c.communicator = id_of_communicator(comm);
  c.bytes_received = bytes;
  c.number = number_message(call, c.communicator, c.peer, c.tag, true);
  if (call.is_recorded()) call.tell(c);
}

void tell_matched(MpiCall call, const MPI_Status& status, MPI_Message message, std::int64_t bytes) {
  const MatchedMessage matched = take_matched(message);
  if (status.MPI_SOURCE == MPI_PROC_NULL || !call.is_recorded()) return;
  Communication c = whole(call, Kind::Receive);
  c.peer = status.MPI_SOURCE;
  c.tag = status.MPI_TAG;
  c.communicator = matched.communicator;
  c.number = matched.number;
  c.bytes_received = bytes;
  call.tell(c);
}

void tell_collective(MpiCall call, MPI_Comm comm, int root, const Traffic& traffic) {
  Communication c = whole(call, Kind::Collective);
  c.peer = rank_of_root(root);
  c.communicator = id_of_communicator(comm);
  c.number = number_collective(c.communicator);
  if (!call.is_recorded()) return;
  c.of_all = identity_if_of_all(c.communicator);
  c.bytes_sent = traffic.sent;
  c.bytes_received = traffic.received;
  call.tell(c);
}

void tell_one_sided(MpiCall call, MPI_Win win, int target, std::int64_t put, std::int64_t got) {
  Communication c = whole(call, Kind::OneSided);
  c.peer = target;
  c.communicator = id_of_window(win);
  c.bytes_sent = put > 0 ? put : 0;
  c.bytes_received = got > 0 ? got : 0;
  call.tell(c);
}

void tell_fence(MpiCall call, MPI_Win win) {
  Communication c = whole(call, Kind::Synchronization);
  c.communicator = id_of_window(win);
  c.number = number_fence(c.communicator);
  if (call.is_recorded()) call.tell(c);
}

void tell_synchronized(MpiCall call, MPI_Win win, int target, bool is_exclusive) {
  Communication c = whole(call, Kind::Synchronization);
  if (target != MPI_PROC_NULL) c.peer = target;
  if (is_exclusive) c.tag = measurement::exclusive_lock;
  c.communicator = id_of_window(win);
  call.tell(c);
}

void tell_access(MpiCall call, MetricId metric, std::int64_t bytes) {
  const bool is_read = metric == MetricId::BytesRead;
  Communication c = whole(call, is_read ? Kind::Read : Kind::Write);
  (is_read ? c.bytes_received : c.bytes_sent) = bytes;
  call.tell(c);
}

void tell_begun(MpiCall call, TrackedRequest& request) {
  // Persistent operations may be started in any order.
  const bool is_in_order = request.kind == RequestKind::Collective && !request.persistent;
  const MessageNumber number = is_in_order ? number_collective(communicator_of(request)) : number_begun(call, request);
  if (!call.is_recorded()) return;
  Communication c = of_request(request, Phase::Begun);
  c.number = number;
  call.tell(c);
}

void tell_begun_matched(MpiCall call, TrackedRequest& request, MPI_Message message) {
  keep_matched(request, take_matched(message));
  if (call.is_recorded()) call.tell(of_request(request, Phase::Begun));
}

void tell_completed(MpiCall call, TrackedRequest& request, const MPI_Status& status, std::int64_t bytes,
                    bool cancelled) {
  const MessageNumber number = number_completed(call, request, status, cancelled);
  if (!call.is_recorded()) return;
  Communication c = of_request(request, cancelled ? Phase::Cancelled : Phase::Completed);
  if (!cancelled && request.kind == RequestKind::Receive) {
    c.peer = rank_or_any(status.MPI_SOURCE);
    c.tag = tag_or_any(status.MPI_TAG);
  }
  if (is_counted_at_completion(request.kind)) (c.kind == Kind::Write ? c.bytes_sent : c.bytes_received) = bytes;
  c.number = number;
  call.tell(c);
}

}  // namespace refrain::adapters::mpi

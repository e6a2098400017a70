#include "adapters/mpi/identities/telling.hpp"

#include "adapters/mpi/identities/communicators.hpp"
#include "adapters/mpi/identities/windows.hpp"

namespace refrain::adapters::mpi {

using events::Kind;
using events::Phase;
using events::Record;
using measurement::MetricId;
using measurement::MpiCall;

namespace {

std::int32_t rank_of_root(int root) {
  return root == MPI_ROOT ? events::this_side : root == MPI_PROC_NULL ? events::no_peer : root;
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
Record of_request(const TrackedRequest& request, Phase phase) {
  Record r;
  r.kind = kind_of(request.kind);
  r.phase = phase;
  r.peer = r.kind == Kind::OneSided     ? request.peer
           : r.kind == Kind::Collective ? rank_of_root(request.peer)
           : events::is_message(r.kind) ? rank_or_any(request.peer)
                                        : events::no_peer;
  if (events::is_message(r.kind)) r.tag = tag_or_any(request.tag);
  r.communicator = r.kind == Kind::OneSided ? id_of_window(handle_of<MPI_Win>(request.communicator))
                                            : communicator_of(request);
  r.request = request.number;
  if (phase != Phase::Begun) {
    r.begun_thread = request.begun.thread;
    r.begun_node = static_cast<std::uint32_t>(request.begun.node);
  }
  if (r.kind != Kind::Receive) {
    r.bytes_sent = request.bytes_sent;
    r.bytes_received = request.bytes_received;
  }
  return r;
}

/// Begun and completed by this call.
Record whole(Kind kind, std::int32_t peer, std::int32_t communicator) {
  Record r;
  r.kind = kind;
  r.peer = peer;
  r.communicator = communicator;
  return r;
}

Record whole_message(Kind kind, std::int32_t peer, std::int32_t tag, std::int32_t communicator, std::int64_t bytes) {
  Record r = whole(kind, peer, communicator);
  r.tag = tag;
  (kind == Kind::Send ? r.bytes_sent : r.bytes_received) = bytes;
  return r;
}

}  // namespace

void tell_sent(MpiCall call, Partner to, std::int64_t bytes) {
  if (to.peer == MPI_PROC_NULL) return;
  Record r = whole_message(Kind::Send, to.peer, to.tag, id_of_communicator(to.comm), bytes);
  const MessageNumber number = number_message(call, r.communicator, r.peer, r.tag, false);
  if (call.is_recorded()) call.tell(r, number);
}

void tell_received(MpiCall call, const MPI_Status& status, MPI_Comm comm, std::int64_t bytes) {
  if (status.MPI_SOURCE == MPI_PROC_NULL) return;
  Record r = whole_message(Kind::Receive, status.MPI_SOURCE, status.MPI_TAG, id_of_communicator(comm), bytes);
  const MessageNumber number = number_message(call, r.communicator, r.peer, r.tag, true);
  if (call.is_recorded()) call.tell(r, number);
}

void tell_matched(MpiCall call, const MPI_Status& status, MPI_Message message, std::int64_t bytes) {
  const MatchedMessage matched = take_matched(message);
  if (status.MPI_SOURCE == MPI_PROC_NULL || !call.is_recorded()) return;
  Record r = whole_message(Kind::Receive, status.MPI_SOURCE, status.MPI_TAG, matched.communicator, bytes);
  call.tell(r, matched.number);
}

void tell_collective(MpiCall call, MPI_Comm comm, int root, const Traffic& traffic) {
  Record r = whole(Kind::Collective, rank_of_root(root), id_of_communicator(comm));
  const MessageNumber number = number_collective(r.communicator);
  if (!call.is_recorded()) return;
  r.bytes_sent = traffic.sent;
  r.bytes_received = traffic.received;
  if (const std::uint64_t identity = identity_if_of_all(r.communicator)) call.tell_operation_of_all(identity);
  call.tell(r, number);
}

void tell_one_sided(MpiCall call, MPI_Win win, int target, std::int64_t put, std::int64_t got) {
  Record r = whole(Kind::OneSided, target, id_of_window(win));
  r.bytes_sent = put > 0 ? put : 0;
  r.bytes_received = got > 0 ? got : 0;
  call.tell(r);
}

void tell_fence(MpiCall call, MPI_Win win) {
  Record r = whole(Kind::Synchronization, events::no_peer, id_of_window(win));
  r.tag = events::any_tag;
  r.ordinal = number_fence(r.communicator).ordinal;
  if (call.is_recorded()) call.tell(r);
}

void tell_synchronized(MpiCall call, MPI_Win win, int target, bool is_exclusive) {
  Record r = whole(Kind::Synchronization, target == MPI_PROC_NULL ? events::no_peer : target, id_of_window(win));
  r.tag = is_exclusive ? events::exclusive_lock : events::any_tag;
  r.ordinal = events::no_ordinal;
  call.tell(r);
}

void tell_access(MpiCall call, MetricId metric, std::int64_t bytes) {
  const bool is_read = metric == MetricId::BytesRead;
  Record r = whole(is_read ? Kind::Read : Kind::Write, events::no_peer, events::unknown_communicator);
  (is_read ? r.bytes_received : r.bytes_sent) = bytes;
  call.tell(r);
}

void tell_begun(MpiCall call, TrackedRequest& request) {
  // Persistent operations may be started in any order.
  const bool is_in_order = request.kind == RequestKind::Collective && !request.persistent;
  const MessageNumber number = is_in_order ? number_collective(communicator_of(request)) : number_begun(call, request);
  if (!call.is_recorded()) return;
  Record r = of_request(request, Phase::Begun);
  call.tell(r, number);
}

void tell_begun_matched(MpiCall call, TrackedRequest& request, MPI_Message message) {
  keep_matched(request, take_matched(message));
  if (!call.is_recorded()) return;
  Record r = of_request(request, Phase::Begun);
  call.tell(r);
}

void tell_completed(MpiCall call, TrackedRequest& request, const MPI_Status& status, std::int64_t bytes,
                    bool cancelled) {
  const MessageNumber number = number_completed(call, request, status, cancelled);
  if (!call.is_recorded()) return;
  Record r = of_request(request, cancelled ? Phase::Cancelled : Phase::Completed);
  if (!cancelled && request.kind == RequestKind::Receive) {
    r.peer = rank_or_any(status.MPI_SOURCE);
    r.tag = tag_or_any(status.MPI_TAG);
  }
  if (is_counted_at_completion(request.kind)) (r.kind == Kind::Write ? r.bytes_sent : r.bytes_received) = bytes;
  call.tell(r, number);
}

}  // namespace refrain::adapters::mpi

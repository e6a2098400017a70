#pragma once
/// What MPI calls communicate: peers, bytes and numbers. An effect calls one of these functions for each thing that has
/// happened; the function adds it to the call path, numbers it, and notes a record if events are kept
/// (measurement/event_log.hpp).
///
/// Messages are numbered on their channels (channels.hpp), collective operations on their communicator, and fences on
/// their window. They are numbered even while MPI_Pcontrol has stopped the measurement, because each rank must count
/// all of its own.
///
/// Thread safety: any thread, with a location. Not for handlers.

#include "adapters/mpi/calls/datatypes.hpp"
#include "adapters/mpi/identities/communicators.hpp"
#include "adapters/mpi/library.hpp"
#include "adapters/mpi/requests/request_table.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

/// MPI has begun, and numbering begins.
void start_numbering();
/// From now on the id also stands for another communicator.
void merge_communicator(std::int32_t id);

/// The envelope of a message as the program gives it, with wildcards and MPI_PROC_NULL.
struct Envelope {
  int peer, tag;
  MPI_Comm comm;
};
/// A peer as records store it.
inline std::int32_t rank_or_any(int peer) {
  return peer == MPI_ANY_SOURCE ? events::any_peer : peer == MPI_PROC_NULL ? events::no_peer : peer;
}
inline std::int32_t tag_or_any(int tag) { return tag == MPI_ANY_TAG ? events::any_tag : tag; }
inline std::int32_t rank_of_root(int root) {
  return root == MPI_ROOT ? events::this_side : root == MPI_PROC_NULL ? events::no_peer : root;
}

// ---- Before MPI sees a message: where several threads make calls at once, its channel is claimed (channels.hpp) ----

[[gnu::cold]] void claim_channel(events::Kind kind, const Envelope& envelope);
[[gnu::cold]] void claim_channel(const TrackedRequest& request);
/// Here and below, `kind` is Send or Receive.
inline void claim(events::Kind kind, const Envelope& envelope) {
  if (constants.channels_are_claimed) [[unlikely]]
    claim_channel(kind, envelope);
}

// ---- Numbers and records of messages. The `envelope` of a receive comes from its status ----

void note_message(measurement::Location& location, events::Kind kind, const Envelope& envelope, std::int64_t bytes);
void note_begun(measurement::Location& location, TrackedRequest& request);
/// A receive was posted with a request that cannot be tracked.
[[gnu::cold]] void note_untracked_receive(measurement::Location& location, const Envelope& from);

// ---- Requests ----

/// Begins to track a request before it is begun. Null: it cannot be tracked, and the loss was counted.
inline TrackedRequest* track(measurement::MpiCall& call, MPI_Request request, events::Kind kind) {
  if (request == constants.empty_request) return nullptr;  // complete already; the handle is shared
  TrackedRequest* tracked = request_table.add(handle_bits(request), kind);
  if (!tracked) call.lost(measurement::Loss::RequestTableFull);
  return tracked;
}
/// The same for a message.
inline TrackedRequest* track(measurement::MpiCall& call, MPI_Request request, events::Kind kind,
                             const Envelope& envelope) {
  TrackedRequest* tracked = track(call, request, kind);
  if (tracked && call.keeps_events()) {
    tracked->peer = rank_or_any(envelope.peer);
    tracked->tag = tag_or_any(envelope.tag);
    tracked->communicator = id_of_communicator(envelope.comm);
  }
  return tracked;
}
/// The call has begun the operation of `request`; null: it is not tracked.
inline void request_begun(measurement::MpiCall& call, TrackedRequest* request) {
  if (!request) return;
  request->begun = call.here();
  request->number = call.number_of_request();
  request->active = true;
  if (call.keeps_events()) note_begun(call.location(), *request);
}
/// The request has completed. `bytes` were received, read or written.
void note_completed(measurement::Location& location, TrackedRequest& request, const MPI_Status& status,
                    std::int64_t bytes, bool cancelled);
/// The request was freed, or has failed, before it completed.
[[gnu::cold]] void note_given_up(measurement::Location& location, TrackedRequest& request);
/// MPI_Cancel is about to be called for the request.
[[gnu::cold]] void doubt(MPI_Request request);
/// Whether the statuses of all requests that a call completes must be known before note_completed(), because the
/// numbers of some receives depend on what others have received.
bool has_waiting_receives();
void note_status(measurement::Location& location, const TrackedRequest& request, const MPI_Status& status);

// ---- Messages ----

/// Bytes that a completed operation has received, read or written, whatever the datatype it was posted with. If MPI
/// does not tell, returns 0 and counts a loss.
inline std::int64_t bytes_of(measurement::MpiCall& call, const MPI_Status& status) {
  MPI_Count bytes = -1;
  if (pmpi.Get_elements_x(&status, constants.byte, &bytes) == MPI_SUCCESS && bytes >= 0) return bytes;
  call.lost(measurement::Loss::UnknownReceive);
  return 0;
}
/// The call has sent a message, or has begun to send it with `request`.
inline void message_sent(measurement::MpiCall& call, std::int64_t count, MPI_Datatype datatype, const Envelope& to,
                         const MPI_Request* request = nullptr) {
  if (to.peer == MPI_PROC_NULL) return;
  const std::int64_t bytes = bytes_of(count, datatype);
  call.sent(1, bytes);
  if (TrackedRequest* tracked = request ? track(call, *request, events::Kind::Send, to) : nullptr) {
    tracked->bytes_sent = bytes;
    request_begun(call, tracked);
  } else if (call.keeps_events()) {
    note_message(call.location(), events::Kind::Send, to, bytes);
  }
}
inline void message_received(measurement::MpiCall& call, const MPI_Status& status, MPI_Comm comm) {
  if (status.MPI_SOURCE == MPI_PROC_NULL) return;
  const std::int64_t bytes = bytes_of(call, status);
  call.received(1, bytes);
  if (call.keeps_events())
    note_message(call.location(), events::Kind::Receive, {status.MPI_SOURCE, status.MPI_TAG, comm}, bytes);
}
/// The call has posted a receive, which counts when it completes. `untold`: its status will not tell source and tag.
inline void receive_posted(measurement::MpiCall& call, const Envelope& from, MPI_Request request, bool untold = false) {
  if (from.peer == MPI_PROC_NULL) return;
  if (TrackedRequest* tracked = track(call, request, events::Kind::Receive, from)) {
    tracked->untold = untold;
    request_begun(call, tracked);
  } else {
    note_untracked_receive(call.location(), from);
  }
}
/// A send or receive has failed: it is unknown whether the message counts.
[[gnu::cold]] void note_failed(measurement::Location& location, events::Kind kind, const Envelope& envelope);
/// The call has matched `message`, which another call will receive. The message gets its number here.
[[gnu::cold]] void note_matched(measurement::Location& location, MPI_Comm comm, MPI_Message message,
                                const MPI_Status& status);
/// The call has received a matched message.
void note_matched_receive(measurement::Location& location, const MPI_Status& status, MPI_Message message,
                          std::int64_t bytes);
/// The call is about to begin `request`, which will receive a matched message.
void take_matched(TrackedRequest& request, MPI_Message message);

// ---- Collective and one-sided operations, windows, files ----

/// A blocking operation has completed. `root` is the program's argument.
void note_collective(measurement::Location& location, MPI_Comm comm, int root, Traffic traffic);
/// A collective operation has failed, so it is uncertain on which ranks it counts: later ones on the communicator have
/// no numbers.
[[gnu::cold]] void fail_collective(MPI_Comm comm);
void note_one_sided(measurement::Location& location, MPI_Win win, int target, Traffic traffic);
/// MPI_Win_fence has synchronized a window.
void note_fence(measurement::Location& location, MPI_Win win);
/// Another function has synchronized a window with one target, or with no particular one: MPI_PROC_NULL.
void note_synchronized(measurement::Location& location, MPI_Win win, int target, bool is_exclusive);
/// The metric of a call path that an access to a file, Read or Write, adds to.
constexpr measurement::MetricId metric_of_access(events::Kind kind) {
  return kind == events::Kind::Read ? measurement::MetricId::BytesRead : measurement::MetricId::BytesWritten;
}
/// A file was read or written.
void note_access(measurement::Location& location, events::Kind kind, std::int64_t bytes);

}  // namespace refrain::adapters::mpi

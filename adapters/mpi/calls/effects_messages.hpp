#pragma once
/// Effects of point-to-point calls; conventions in effects.hpp.

#include "adapters/mpi/calls/datatypes.hpp"
#include "adapters/mpi/identities/telling.hpp"
#include "adapters/mpi/requests/tracking.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

/// A message that the call has sent; `to` is looked at only when events are kept.
inline void count_send(measurement::MpiCall& call, std::int64_t count, MPI_Datatype datatype, const Partner& to) {
  if (to.peer == MPI_PROC_NULL) return;
  const std::int64_t bytes = bytes_of(count, datatype);
  call.sent(1, bytes);
  if (call.is_listened_to()) tell_sent(call, to, bytes);
}
/// A message that the call has begun to send.
inline void count_posted_send(measurement::MpiCall& call, std::int64_t count, MPI_Datatype datatype, const Partner& to,
                              MPI_Request request) {
  if (to.peer == MPI_PROC_NULL) return;
  const std::int64_t bytes = bytes_of(count, datatype);
  call.sent(1, bytes);
  TrackedRequest* tracked = set_partner(track(call, request, RequestKind::Send), to);
  if (tracked) tracked->bytes_sent = bytes;
  if (!call.is_listened_to()) return;
  if (tracked) tell_begun(call, *tracked);
  else tell_sent(call, to, bytes);
}
/// A message that the call has begun to receive. It is counted when it completes.
inline void count_posted_receive(measurement::MpiCall& call, const Partner& from, MPI_Request request,
                                 RequestKind kind = RequestKind::Receive) {
  if (from.peer == MPI_PROC_NULL) return;
  TrackedRequest* tracked = set_partner(track(call, request, kind), from);
  if (!call.is_listened_to()) return;
  if (tracked) tell_begun(call, *tracked);
  else number_untracked(call, from);
}
/// What the status of a completed operation tells; 0 and a loss when it does not.
inline std::int64_t told_bytes(measurement::MpiCall& call, const MPI_Status& status) {
  const std::int64_t bytes = bytes_of(status);
  if (bytes >= 0) return bytes;
  call.lost(measurement::Loss::UnknownReceive);
  return 0;
}
inline void count_receive(measurement::MpiCall& call, const MPI_Status& status, MPI_Comm comm) {
  if (status.MPI_SOURCE == MPI_PROC_NULL) return;
  const std::int64_t bytes = told_bytes(call, status);
  call.received(1, bytes);
  if (call.is_listened_to()) tell_received(call, status, comm, bytes);
}
/// A message may have moved or not.
inline void note_failed(measurement::MpiCall& call, const Partner& partner, bool is_receive) {
  if (call.is_listened_to()) fail_number(call, partner, is_receive);
}

/// The status of a call, our own when the program ignores it.
class CallStatus {
 public:
  explicit CallStatus(MPI_Status*& argument) {
    if (argument == MPI_STATUS_IGNORE) argument = &own_;
    status_ = argument;
  }
  CallStatus(const CallStatus&) = delete;
  const MPI_Status& operator*() const { return *status_; }

 private:
  MPI_Status own_;
  MPI_Status* status_;
};

/// Every kind of send, counted by the call that starts it.
struct Sent {
  std::int64_t count;
  MPI_Datatype datatype;
  int dest, tag;
  MPI_Comm comm;
  void before() { claim_send(dest, tag, comm); }
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return note_failed(call, {dest, tag, comm}, false);
    count_send(call, count, datatype, {dest, tag, comm});
  }
};

struct SendPosted {
  std::int64_t count;
  MPI_Datatype datatype;
  int dest, tag;
  MPI_Comm comm;
  const MPI_Request* request;
  void before() { claim_send(dest, tag, comm); }
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return note_failed(call, {dest, tag, comm}, false);
    count_posted_send(call, count, datatype, {dest, tag, comm}, *request);
  }
};

struct Received {
  int source, tag;
  MPI_Comm comm;
  CallStatus status;
  Received(int source, int tag, MPI_Comm comm, MPI_Status*& argument)
      : source(source), tag(tag), comm(comm), status(argument) {}
  void before() { claim_receive(source, tag, comm); }
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return note_failed(call, {source, tag, comm}, true);
    count_receive(call, *status, comm);
  }
};

/// MPI_Mprobe, and with `flag` MPI_Improbe: here the message is matched.
struct MessageMatched {
  int source, tag;
  MPI_Comm comm;
  const int* flag;
  const MPI_Message* message;
  CallStatus status;
  MessageMatched(int source, int tag, MPI_Comm comm, const int* flag, const MPI_Message* message, MPI_Status*& argument)
      : source(source), tag(tag), comm(comm), flag(flag), message(message), status(argument) {}
  void before() { claim_receive(source, tag, comm); }
  void after(measurement::MpiCall& call, int result) {
    if (!call.is_listened_to()) return;
    if (result != MPI_SUCCESS) return fail_number(call, {source, tag, comm}, true);
    if (!flag || *flag) number_matched(call, comm, *message, *status);
  }
};
struct MessageProbed : MessageMatched {
  MessageProbed(int source, int tag, MPI_Comm comm, const MPI_Message* message, MPI_Status*& argument)
      : MessageMatched(source, tag, comm, nullptr, message, argument) {}
};

/// The communicator is that of the probe.
struct MatchedReceived {
  MPI_Message message;  ///< MPI overwrites it
  CallStatus status;
  MatchedReceived(const MPI_Message* message, MPI_Status*& argument) : message(*message), status(argument) {}
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS || (*status).MPI_SOURCE == MPI_PROC_NULL) return;
    const std::int64_t bytes = told_bytes(call, *status);
    call.received(1, bytes);
    if (call.is_listened_to()) tell_matched(call, *status, message, bytes);
  }
};

struct SentAndReceived {
  std::int64_t count;
  MPI_Datatype datatype;
  int dest, tag, source, recvtag;
  MPI_Comm comm;
  CallStatus status;
  SentAndReceived(std::int64_t count, MPI_Datatype datatype, int dest, int tag, int source, int recvtag, MPI_Comm comm,
                  MPI_Status*& argument)
      : count(count),
        datatype(datatype),
        dest(dest),
        tag(tag),
        source(source),
        recvtag(recvtag),
        comm(comm),
        status(argument) {}
  void before() {
    claim_send(dest, tag, comm);
    claim_receive(source, recvtag, comm);
  }
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) {
      note_failed(call, {dest, tag, comm}, false);
      return note_failed(call, {source, recvtag, comm}, true);
    }
    count_send(call, count, datatype, {dest, tag, comm});
    count_receive(call, *status, comm);
  }
};
using ReplacedInPlace = SentAndReceived;

/// A non-blocking receive, counted where it was posted when it completes.
struct ReceivePosted {
  int source, tag;
  MPI_Comm comm;
  const MPI_Request* request;
  void before() { claim_receive(source, tag, comm); }
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return note_failed(call, {source, tag, comm}, true);
    count_posted_receive(call, {source, tag, comm}, *request);
  }
};

struct MatchedPosted {
  MPI_Message message;  ///< MPI overwrites it
  const MPI_Request* request;
  MatchedPosted(const MPI_Message* message, const MPI_Request* request) : message(*message), request(request) {}
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS || message == constants.no_message) return;
    TrackedRequest* tracked = set_partner(track(call, *request, RequestKind::Receive),
                                          {MPI_ANY_SOURCE, MPI_ANY_TAG, constants.no_communicator});
    if (tracked && call.is_listened_to()) tell_begun_matched(call, *tracked, message);
  }
};

struct SendAndReceivePosted {
  std::int64_t count;
  MPI_Datatype datatype;
  int dest, sendtag, source, recvtag;
  MPI_Comm comm;
  const MPI_Request* request;
  void before() {
    claim_send(dest, sendtag, comm);
    claim_receive(source, recvtag, comm);
  }
  /// The request is taken for that of the receive.
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) {
      note_failed(call, {dest, sendtag, comm}, false);
      return note_failed(call, {source, recvtag, comm}, true);
    }
    count_send(call, count, datatype, {dest, sendtag, comm});
    const RequestKind kind = constants.isendrecv_tells ? RequestKind::Receive : RequestKind::UntoldReceive;
    count_posted_receive(call, {source, recvtag, comm}, *request, kind);
  }
};
using ReplacePosted = SendAndReceivePosted;

}  // namespace refrain::adapters::mpi

#pragma once
/// Effects of point-to-point calls; conventions in effects.hpp.

#include "adapters/mpi/identities/communications.hpp"

namespace refrain::adapters::mpi {

/// Room for a status that the program ignores. MPI fills it in.
struct OwnStatus : MPI_Status {
  OwnStatus() {}
};

/// The status of a call; our own one if the program ignores it.
class CallStatus {
 public:
  CallStatus(MPI_Status*& argument) {  // NOLINT: effects are made from the arguments as they are
    if (argument == MPI_STATUS_IGNORE) argument = &own_;
    status_ = argument;
  }
  CallStatus(const CallStatus&) = delete;
  const MPI_Status& operator*() const { return *status_; }

 private:
  OwnStatus own_;
  MPI_Status* status_;
};

/// Every kind of send. It counts at the call that begins it.
struct SendPosted {
  std::int64_t count;
  MPI_Datatype datatype;
  Envelope to;
  const MPI_Request* request = nullptr;
  void before() { claim(events::Kind::Send, to); }
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return note_failed(call.location(), events::Kind::Send, to);
    message_sent(call, count, datatype, to, request);
  }
};
using Sent = SendPosted;

struct Received {
  Envelope from;
  CallStatus status;
  void before() { claim(events::Kind::Receive, from); }
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return note_failed(call.location(), events::Kind::Receive, from);
    message_received(call, *status, from.comm);
  }
};

/// MPI_Mprobe, and MPI_Improbe with `flag`. The message is matched here.
struct MessageMatched {
  Envelope from;
  const MPI_Message* message;
  CallStatus status;
  const int* flag = nullptr;
  void before() { claim(events::Kind::Receive, from); }
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return note_failed(call.location(), events::Kind::Receive, from);
    if (!flag || *flag) note_matched(call.location(), from.comm, *message, *status);
  }
};
using MessageProbed = MessageMatched;

/// MPI_Mrecv. The communicator is that of the probe.
struct MatchedReceived {
  MPI_Message message;  ///< MPI overwrites it
  CallStatus status;
  MatchedReceived(const MPI_Message* message, MPI_Status*& argument) : message(*message), status(argument) {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS || (*status).MPI_SOURCE == MPI_PROC_NULL) return;
    const std::int64_t bytes = bytes_of(call, *status);
    call.received(1, bytes);
    note_matched_receive(call.location(), *status, message, bytes);
  }
};

/// A non-blocking receive. It counts when it completes, where it was posted.
struct ReceivePosted {
  Envelope from;
  const MPI_Request* request;
  void before() { claim(events::Kind::Receive, from); }
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return note_failed(call.location(), events::Kind::Receive, from);
    receive_posted(call, from, *request);
  }
};

struct MatchedPosted {
  MPI_Message message;  ///< MPI overwrites it
  const MPI_Request* request;
  MatchedPosted(const MPI_Message* message, const MPI_Request* request) : message(*message), request(request) {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS || message == constants.no_message) return;
    TrackedRequest* tracked =
        track(call, *request, events::Kind::Receive, {MPI_ANY_SOURCE, MPI_ANY_TAG, constants.no_communicator});
    if (tracked) take_matched(*tracked, message);
    request_begun(call, tracked);
  }
};

/// A send and a receive in one call.
struct BothWays {
  std::int64_t count;
  MPI_Datatype datatype;
  int dest, sendtag, source, recvtag;
  MPI_Comm comm;
  Envelope to() const { return {dest, sendtag, comm}; }
  Envelope from() const { return {source, recvtag, comm}; }
  void before() {
    claim(events::Kind::Send, to());
    claim(events::Kind::Receive, from());
  }
  /// Counts the send. False: the call has failed.
  bool sent(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS) return message_sent(call, count, datatype, to()), true;
    note_failed(call.location(), events::Kind::Send, to());
    note_failed(call.location(), events::Kind::Receive, from());
    return false;
  }
};

struct SentAndReceived : BothWays {
  CallStatus status;
  void after(measurement::MpiCall& call, int result) {
    if (sent(call, result)) message_received(call, *status, comm);
  }
};
using ReplacedInPlace = SentAndReceived;

/// The request is treated as that of the receive.
struct SendAndReceivePosted : BothWays {
  const MPI_Request* request;
  void after(measurement::MpiCall& call, int result) {
    if (sent(call, result)) receive_posted(call, from(), *request, !constants.isendrecv_tells);
  }
};
using ReplacePosted = SendAndReceivePosted;

}  // namespace refrain::adapters::mpi

#pragma once
/// Effects of point-to-point calls; conventions in effects.hpp.

#include "adapters/mpi/datatypes.hpp"
#include "adapters/mpi/tracking.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

inline void count_send(measurement::MpiCall& call, std::int64_t count, MPI_Datatype datatype, int dest) {
  if (dest != MPI_PROC_NULL) call.sent(1, bytes_of(count, datatype));
}
inline void count_receive(measurement::MpiCall& call, const MPI_Status& status) {
  if (status.MPI_SOURCE == MPI_PROC_NULL) return;
  std::int64_t bytes = bytes_of(status);
  if (bytes < 0) {
    call.lost(measurement::Loss::UnknownReceive);
    bytes = 0;
  }
  call.received(1, bytes);
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
  int dest;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS) count_send(call, count, datatype, dest);
  }
};

struct MatchedReceived {
  CallStatus status;
  explicit MatchedReceived(MPI_Status*& argument) : status(argument) {}
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS) count_receive(call, *status);
  }
};
struct Received : MatchedReceived {
  Received(int, MPI_Status*& argument) : MatchedReceived(argument) {}
};

struct SentAndReceived {
  std::int64_t count;
  MPI_Datatype datatype;
  int dest;
  CallStatus status;
  SentAndReceived(std::int64_t sendcount, MPI_Datatype sendtype, int dest, int, MPI_Status*& argument)
      : count(sendcount), datatype(sendtype), dest(dest), status(argument) {}
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    count_send(call, count, datatype, dest);
    count_receive(call, *status);
  }
};
using ReplacedInPlace = SentAndReceived;

/// A non-blocking receive, counted by the call that completes it.
struct ReceivePosted {
  int source;
  MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && source != MPI_PROC_NULL) track(call, *request, RequestKind::Receive);
  }
};

struct MatchedPosted {
  MPI_Message message;  ///< MPI overwrites it
  MPI_Request* request;
  MatchedPosted(const MPI_Message* message, MPI_Request* request) : message(*message), request(request) {}
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && message != constants.no_message) track(call, *request, RequestKind::Receive);
  }
};

struct SendAndReceivePosted {
  std::int64_t count;
  MPI_Datatype datatype;
  int dest, source;
  MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    count_send(call, count, datatype, dest);
    if (source == MPI_PROC_NULL) return;
    track(call, *request, constants.isendrecv_tells ? RequestKind::Receive : RequestKind::UntoldReceive);
  }
};
using ReplacePosted = SendAndReceivePosted;

}  // namespace refrain::adapters::mpi

#pragma once
/// Effects of point-to-point calls; conventions in effects.hpp.

#include "adapters/mpi/datatypes.hpp"
#include "adapters/mpi/tracking.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

inline void count_send(measurement::MpiCall& call, std::int64_t count, MPI_Datatype datatype, int dest) {
  if (dest != MPI_PROC_NULL) call.sent(1, bytes_of(count, datatype));
}
/// What the status of a completed operation tells; 0 and a loss when it does not.
inline std::int64_t told_bytes(measurement::MpiCall& call, const MPI_Status& status) {
  const std::int64_t bytes = bytes_of(status);
  if (bytes >= 0) return bytes;
  call.lost(measurement::Loss::UnknownReceive);
  return 0;
}
inline void count_receive(measurement::MpiCall& call, const MPI_Status& status) {
  if (status.MPI_SOURCE != MPI_PROC_NULL) call.received(1, told_bytes(call, status));
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

struct SendPosted {
  std::int64_t count;
  MPI_Datatype datatype;
  int dest, tag;
  MPI_Comm comm;
  const MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS || dest == MPI_PROC_NULL) return;
    count_send(call, count, datatype, dest);
    set_partner(track(call, *request, RequestKind::Send), {dest, tag, comm});
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

/// A non-blocking receive, counted where it was posted when it completes.
struct ReceivePosted {
  int source, tag;
  MPI_Comm comm;
  const MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && source != MPI_PROC_NULL)
      set_partner(track(call, *request, RequestKind::Receive), {source, tag, comm});
  }
};

struct MatchedPosted {
  MPI_Message message;  ///< MPI overwrites it
  const MPI_Request* request;
  MatchedPosted(const MPI_Message* message, const MPI_Request* request) : message(*message), request(request) {}
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && message != constants.no_message)
      set_partner(track(call, *request, RequestKind::Receive),
                  {MPI_ANY_SOURCE, MPI_ANY_TAG, constants.no_communicator});
  }
};

struct SendAndReceivePosted {
  std::int64_t count;
  MPI_Datatype datatype;
  int dest, source, tag;
  MPI_Comm comm;
  const MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    count_send(call, count, datatype, dest);
    if (source == MPI_PROC_NULL) return;
    const RequestKind kind = constants.isendrecv_tells ? RequestKind::Receive : RequestKind::UntoldReceive;
    set_partner(track(call, *request, kind), {source, tag, comm});
  }
};
using ReplacePosted = SendAndReceivePosted;

}  // namespace refrain::adapters::mpi

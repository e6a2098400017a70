#pragma once
/// Effects of calls on requests; conventions in effects.hpp. What completes here is a receive that was posted earlier:
/// its message and bytes are counted at the completing call.

#include "adapters/mpi/effects_messages.hpp"
#include "adapters/mpi/scratch.hpp"
#include "adapters/mpi/tracking.hpp"

namespace refrain::adapters::mpi {

/// A claimed request has completed; `status` is its own.
void complete(measurement::MpiCall& call, TrackedRequest& request, const MPI_Status& status);
/// A claimed request has ended, perhaps with an error: it is forgotten, or inactive when it is persistent.
void retire(TrackedRequest& request);
/// A persistent request was started.
void start(measurement::MpiCall& call, MPI_Request request);

/// A persistent send, counted whenever it is started.
struct SendPrepared {
  std::int64_t count;
  MPI_Datatype datatype;
  int dest;
  MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && dest != MPI_PROC_NULL)
      track_operation(call, *request, 1, bytes_of(count, datatype), 0);
  }
};

struct PartitionedSendPrepared : SendPrepared {
  PartitionedSendPrepared(int partitions, std::int64_t count, MPI_Datatype datatype, int dest, MPI_Request* request)
      : SendPrepared{partitions * count, datatype, dest, request} {}
};

struct ReceivePrepared {
  int source;
  MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS && source != MPI_PROC_NULL) track(call, *request, RequestKind::PersistentReceive);
  }
};
using PartitionedReceivePrepared = ReceivePrepared;

struct Started {
  const MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS) start(call, *request);
  }
};

struct AllStarted {
  int count;
  const MPI_Request* requests;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    for (int i = 0; i < count; ++i) start(call, requests[i]);
  }
};

struct RequestFreed {
  const MPI_Request* request;
  TrackedRequest* claimed = nullptr;
  explicit RequestFreed(const MPI_Request* request) : request(request) {}
  void before() { claimed = request_table.claim(handle_bits(*request)); }
  void after(measurement::MpiCall&, int result) {
    if (!claimed) return;
    if (result == MPI_SUCCESS) {
      request_table.release(*claimed);
    } else {
      request_table.return_claim(*claimed);
    }
  }
};

/// MPI_Wait, and with `flag` MPI_Test.
struct Tested {
  MPI_Request* request;
  const int* flag;
  MPI_Status*& status;
  MPI_Request handle;
  TrackedRequest* claimed = nullptr;
  MPI_Status own;
  Tested(MPI_Request* request, const int* flag, MPI_Status*& status) : request(request), flag(flag), status(status) {}
  void before() {
    handle = *request;
    claimed = request_table.claim(handle_bits(handle));
    if (claimed && status == MPI_STATUS_IGNORE) status = &own;
  }
  void after(measurement::MpiCall& call, int result) {
    if (!claimed) return;
    if (result == MPI_SUCCESS && (!flag || *flag)) return complete(call, *claimed, *status);
    if (result != MPI_SUCCESS && *request != handle) return retire(*claimed);
    request_table.return_claim(*claimed);
  }
};
struct Waited : Tested {
  Waited(MPI_Request* request, MPI_Status*& status) : Tested(request, nullptr, status) {}
};

/// The entries of an array of requests, claimed for the duration of a call.
class ClaimedArray {
 public:
  ClaimedArray(const MPI_Request* requests, int count) : requests_(requests), count_(count) {}
  ClaimedArray(const ClaimedArray&) = delete;
  ~ClaimedArray() { scratch_.give_back(); }
  /// True when a request is tracked. When there is no memory for a long array nothing is.
  bool claim();
  /// Room for as many statuses as requests. To be called after `claim` was true.
  MPI_Status* statuses() { return scratch_.exists() ? scratch_.statuses() : own_statuses_; }
  void completed(measurement::MpiCall& call, int i, const MPI_Status& status) {
    if (claimed_[i]) complete(call, *claimed_[i], status);
    claimed_[i] = nullptr;
  }
  /// After MPI_ERR_IN_STATUS, by the request's own error.
  void ended(measurement::MpiCall& call, int i, const MPI_Status& status);
  void return_others();

 private:
  static constexpr int at_hand = 64;  ///< arrays up to this length need no memory beside the stack
  const MPI_Request* requests_;
  int count_;
  TrackedRequest** claimed_ = own_claimed_;
  Scratch scratch_;
  TrackedRequest* own_claimed_[at_hand];
  MPI_Status own_statuses_[at_hand];
};

/// MPI_Waitall, and with `flag` MPI_Testall.
struct TestedAll {
  int count;
  const int* flag;
  MPI_Status*& statuses;
  ClaimedArray claimed;
  bool any = false;
  TestedAll(int count, const MPI_Request* requests, const int* flag, MPI_Status*& statuses)
      : count(count), flag(flag), statuses(statuses), claimed(requests, count) {}
  void before() {
    any = claimed.claim();
    if (any && statuses == MPI_STATUSES_IGNORE) statuses = claimed.statuses();
  }
  void after(measurement::MpiCall& call, int result);
};
struct WaitedAll : TestedAll {
  WaitedAll(int count, const MPI_Request* requests, MPI_Status*& statuses)
      : TestedAll(count, requests, nullptr, statuses) {}
};

/// MPI_Waitany, and with `flag` MPI_Testany.
struct TestedAny {
  const int* index;
  const int* flag;
  MPI_Status*& status;
  ClaimedArray claimed;
  bool any = false;
  MPI_Status own;
  TestedAny(int count, const MPI_Request* requests, const int* index, const int* flag, MPI_Status*& status)
      : index(index), flag(flag), status(status), claimed(requests, count) {}
  void before() {
    any = claimed.claim();
    if (any && status == MPI_STATUS_IGNORE) status = &own;
  }
  void after(measurement::MpiCall& call, int result);
};
struct WaitedAny : TestedAny {
  WaitedAny(int count, const MPI_Request* requests, const int* index, MPI_Status*& status)
      : TestedAny(count, requests, index, nullptr, status) {}
};

/// MPI_Waitsome and MPI_Testsome.
struct WaitedSome {
  const int* outcount;
  const int* indices;
  MPI_Status*& statuses;
  ClaimedArray claimed;
  bool any = false;
  WaitedSome(int count, const MPI_Request* requests, const int* outcount, const int* indices, MPI_Status*& statuses)
      : outcount(outcount), indices(indices), statuses(statuses), claimed(requests, count) {}
  void before() {
    any = claimed.claim();
    if (any && statuses == MPI_STATUSES_IGNORE) statuses = claimed.statuses();
  }
  void after(measurement::MpiCall& call, int result);
};

}  // namespace refrain::adapters::mpi

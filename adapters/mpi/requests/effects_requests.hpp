#pragma once
/// Effects of calls on requests; conventions in effects.hpp. What a call completes is counted where it was begun, and
/// as completed at the call.

#include <atomic>

#include "adapters/mpi/calls/effects_messages.hpp"
#include "adapters/mpi/requests/scratch.hpp"
#include "adapters/mpi/requests/tracking.hpp"

namespace refrain::adapters::mpi {

/// A claimed request has completed; `status` is its own.
void complete(measurement::MpiCall& call, TrackedRequest& request, const MPI_Status& status);
/// A claimed request has ended with an error: it is forgotten, or inactive when it is persistent.
void retire_failed(measurement::MpiCall& call, TrackedRequest& request);
/// A claimed persistent request was started; `request` is its handle now.
void start(measurement::MpiCall& call, TrackedRequest& claimed, MPI_Request request);

/// A persistent send, counted whenever it is started.
struct SendPrepared {
  std::int64_t count;
  MPI_Datatype datatype;
  int dest, tag;
  MPI_Comm comm;
  const MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS || dest == MPI_PROC_NULL) return;
    if (TrackedRequest* tracked = set_partner(track_persistent(call, *request, RequestKind::Send), {dest, tag, comm})) {
      tracked->bytes_sent = bytes_of(count, datatype);
      tracked->partitioned = is_partitioned;
    }
  }
  bool is_partitioned = false;
};

struct PartitionedSendPrepared : SendPrepared {
  PartitionedSendPrepared(int partitions, std::int64_t count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                          const MPI_Request* request)
      : SendPrepared{partitions * count, datatype, dest, tag, comm, request, true} {}
};

/// A persistent receive, counted where it was started when it completes.
struct ReceivePrepared {
  int source, tag;
  MPI_Comm comm;
  const MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS || source == MPI_PROC_NULL) return;
    if (TrackedRequest* tracked =
            set_partner(track_persistent(call, *request, RequestKind::Receive), {source, tag, comm}))
      tracked->partitioned = is_partitioned;
  }
  bool is_partitioned = false;
};
struct PartitionedReceivePrepared : ReceivePrepared {
  PartitionedReceivePrepared(int source, int tag, MPI_Comm comm, const MPI_Request* request)
      : ReceivePrepared{source, tag, comm, request, true} {}
};

/// A call that begins a request, beside its own effect.
template <class Effect>
struct Begun {
  Effect effect;
  const MPI_Request* request;
  RequestKind kind;
  void before() { effect.before(); }
  void after(measurement::MpiCall& call, int result) {
    TrackedRequest* tracked = result == MPI_SUCCESS ? track(call, *request, kind) : nullptr;
    if (tracked) effect.begun(call, *tracked);
    else effect.after(call, result);
  }
};
template <class Effect>
Begun(Effect, const MPI_Request*, RequestKind) -> Begun<Effect>;

template <RequestKind kind>
struct Posted {
  const MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    tell_begun_if_wanted(call, track(call, *request, kind));
  }
};
using FileReadPosted = Posted<RequestKind::FileRead>;
using FileWritePosted = Posted<RequestKind::FileWrite>;

/// MPI_Cancel: whether it came in time is told by the status when the request completes, perhaps on another thread and
/// before this call returns. From the first one on all statuses are asked.
extern constinit std::atomic<bool> program_cancels;
struct Cancelled {
  const MPI_Request* request;
  void before() {
    program_cancels.store(true, std::memory_order_relaxed);
    doubt_number(*request);
  }
  void after(measurement::MpiCall&, int) {}
};

/// MPI_Start. Open MPI changes the handle of a buffered send when its last message has not left yet.
struct Started {
  const MPI_Request* request;
  TrackedRequest* claimed = nullptr;
  explicit Started(const MPI_Request* request) : request(request) {}
  void before() {
    claimed = request_table.claim(handle_bits(*request));
    claim_start(claimed);
  }
  void after(measurement::MpiCall& call, int result) {
    if (!claimed) return;
    if (result == MPI_SUCCESS) return start(call, *claimed, *request);
    request_table.return_claim(*claimed);
  }
};

struct RequestFreed {
  const MPI_Request* request;
  TrackedRequest* claimed = nullptr;
  explicit RequestFreed(const MPI_Request* request) : request(request) {}
  void before() { claimed = request_table.claim(handle_bits(*request)); }
  void after(measurement::MpiCall& call, int result) {
    if (!claimed) return;
    if (result == MPI_SUCCESS) {
      if (claimed->active && is_counted_at_completion(claimed->kind)) call.lost(measurement::Loss::UnknownReceive);
      if (call.is_listened_to()) give_up_number(call, *claimed);
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
    if (result != MPI_SUCCESS && *request != handle) return retire_failed(call, *claimed);
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
  /// Before completed(), where several are: what is known of one tells the numbers of others.
  void resolve(measurement::MpiCall& call, int i, const MPI_Status& status) {
    if (claimed_[i]) resolve_number(call, *claimed_[i], status);
  }
  /// Before they are started.
  void claim_starts() {
    for (int i = 0; i < count_; ++i) claim_start(claimed_[i]);
  }
  /// Room for as many statuses as requests. To be called after `claim` was true.
  MPI_Status* statuses() { return scratch_.exists() ? scratch_.statuses() : own_statuses_; }
  void completed(measurement::MpiCall& call, int i, const MPI_Status& status) {
    if (claimed_[i]) complete(call, *claimed_[i], status);
    claimed_[i] = nullptr;
  }
  void started(measurement::MpiCall& call, int i) {
    if (claimed_[i]) start(call, *claimed_[i], requests_[i]);
    claimed_[i] = nullptr;
  }
  /// After MPI_ERR_IN_STATUS, by the request's own error.
  void ended(measurement::MpiCall& call, int i, const MPI_Status& status);
  void return_others();
  /// After another error: MPI has ended those whose handles it has taken away.
  void retire_ended(measurement::MpiCall& call);

 private:
  static constexpr int at_hand = 64;  ///< arrays up to this length need no memory beside the stack
  const MPI_Request* requests_;
  int count_;
  TrackedRequest** claimed_ = own_claimed_;
  Scratch scratch_;
  TrackedRequest* own_claimed_[at_hand];
  MPI_Status own_statuses_[at_hand];
};

/// MPI_Startall.
struct AllStarted {
  int count;
  ClaimedArray claimed;
  bool any = false;
  AllStarted(int count, const MPI_Request* requests) : count(count), claimed(requests, count) {}
  void before() {
    any = claimed.claim();
    if (any && constants.channels_are_claimed) [[unlikely]]
      claimed.claim_starts();
  }
  void after(measurement::MpiCall& call, int result) {
    if (!any) return;
    if (result == MPI_SUCCESS)
      for (int i = 0; i < count; ++i) claimed.started(call, i);
    claimed.return_others();
  }
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

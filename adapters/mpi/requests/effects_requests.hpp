#pragma once
/// Effects of calls on requests; conventions in effects.hpp. A completed operation counts at the call path where it was
/// begun, and as completed at the call that completes it.

#include <atomic>

#include "adapters/mpi/calls/effects_messages.hpp"
#include "adapters/mpi/requests/scratch.hpp"

namespace refrain::adapters::mpi {

/// A claimed request has completed; `status` is its own.
void complete(measurement::MpiCall& call, TrackedRequest& request, const MPI_Status& status);
/// A claimed request has ended with an error: forgets it, or makes it inactive if it is persistent.
void retire_failed(measurement::MpiCall& call, TrackedRequest& request);
/// A claimed persistent request was started; `request` is its handle now.
void start(measurement::MpiCall& call, TrackedRequest& claimed, MPI_Request request);

/// Tracks a persistent message. A send counts at every start, a receive where it was started, when it completes.
inline TrackedRequest* track_persistent(measurement::MpiCall& call, MPI_Request request, events::Kind kind,
                                        const Envelope& envelope, bool is_partitioned) {
  TrackedRequest* tracked = envelope.peer == MPI_PROC_NULL ? nullptr : track(call, request, kind, envelope);
  if (tracked) {
    tracked->persistent = true;
    tracked->partitioned = is_partitioned;
  }
  return tracked;
}

struct SendPrepared {
  std::int64_t count;
  MPI_Datatype datatype;
  Envelope to;
  const MPI_Request* request;
  int partitions = -1;  ///< negative: it is not partitioned
  void after(measurement::MpiCall& call, int result) {
    if (result != MPI_SUCCESS) return;
    if (TrackedRequest* tracked = track_persistent(call, *request, events::Kind::Send, to, partitions >= 0))
      tracked->bytes_sent = bytes_of(partitions < 0 ? count : partitions * count, datatype);
  }
};
using PartitionedSendPrepared = SendPrepared;

template <bool is_partitioned>
struct ReceivePreparedBy {
  Envelope from;
  const MPI_Request* request;
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS) track_persistent(call, *request, events::Kind::Receive, from, is_partitioned);
  }
};
using ReceivePrepared = ReceivePreparedBy<false>;
using PartitionedReceivePrepared = ReceivePreparedBy<true>;

template <events::Kind kind>
struct Posted {
  const MPI_Request* request;
  void after(measurement::MpiCall& call, int result) {
    if (result == MPI_SUCCESS) request_begun(call, track(call, *request, kind));
  }
};
using FileReadPosted = Posted<events::Kind::Read>;
using FileWritePosted = Posted<events::Kind::Write>;

/// MPI_Cancel. The status of the completed request says whether it came in time, perhaps on another thread and before
/// this call returns. After the first MPI_Cancel all statuses are checked.
extern constinit std::atomic<bool> program_cancels;
struct Cancelled {
  const MPI_Request* request;
  void before() {
    program_cancels.store(true, std::memory_order_relaxed);
    doubt(*request);
  }
  void after(measurement::MpiCall&, int) {}
};

/// MPI_Start. Open MPI changes the handle of a buffered send whose last message has not been sent yet.
struct Started {
  const MPI_Request* request;
  TrackedRequest* claimed = nullptr;
  void before() {
    claimed = request_table.claim(handle_bits(*request));
    if (claimed && constants.channels_are_claimed) claim_channel(*claimed);
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
  void before() { claimed = request_table.claim(handle_bits(*request)); }
  void after(measurement::MpiCall& call, int result) {
    if (!claimed) return;
    if (result != MPI_SUCCESS) return request_table.return_claim(*claimed);
    if (claimed->active && is_counted_at_completion(claimed->kind)) call.lost(measurement::Loss::UnknownReceive);
    note_given_up(call.location(), *claimed);
    request_table.release(*claimed);
  }
};

/// MPI_Wait, and MPI_Test with `flag`.
struct Tested {
  MPI_Request* request;
  MPI_Status*& status;
  const int* flag = nullptr;
  MPI_Request handle{};
  TrackedRequest* claimed = nullptr;
  OwnStatus own{};
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
using Waited = Tested;

/// The entries of an array of requests, claimed for the duration of a call.
class ClaimedArray {
 public:
  ClaimedArray(const MPI_Request* requests, int count) : requests_(requests), count_(count) {}
  ClaimedArray(const ClaimedArray&) = delete;
  /// True: a request is tracked. If there is no memory for a long array, none is.
  bool claim();
  /// Claims the channels before the requests are started. Call claim() first.
  void claim_channels();
  /// Room for as many statuses as requests, after claim() has returned true.
  MPI_Status* statuses() { return scratch_.exists() ? scratch_.statuses() : own_statuses_; }
  /// All requests were started, if the call has succeeded.
  void start_all(measurement::MpiCall& call, int result);
  /// The call has ended `n` requests: those at `indices`, or the first ones (null). After MPI_ERR_IN_STATUS each status
  /// has the result; after another error MPI has ended those requests whose handles it has changed.
  void end(measurement::MpiCall& call, int result, int n, const int* indices, const MPI_Status* statuses);

 private:
  void return_others();

  static constexpr int at_hand = 64;  ///< arrays up to this length fit on the stack
  const MPI_Request* requests_;
  int count_;
  bool any_ = false;
  TrackedRequest** claimed_ = own_claimed_;
  Scratch scratch_;
  TrackedRequest* own_claimed_[at_hand];
  MPI_Status own_statuses_[at_hand];
};

/// MPI_Startall.
struct AllStarted {
  int count;
  const MPI_Request* requests;
  ClaimedArray claimed{requests, count};
  void before() {
    if (claimed.claim() && constants.channels_are_claimed) [[unlikely]]
      claimed.claim_channels();
  }
  void after(measurement::MpiCall& call, int result) { claimed.start_all(call, result); }
};

/// MPI_Waitall, and MPI_Testall with `flag`.
struct TestedAll {
  int count;
  const MPI_Request* requests;
  MPI_Status*& statuses;
  const int* flag = nullptr;
  ClaimedArray claimed{requests, count};
  void before() {
    if (claimed.claim() && statuses == MPI_STATUSES_IGNORE) statuses = claimed.statuses();
  }
  void after(measurement::MpiCall& call, int result) {
    claimed.end(call, result, result == MPI_SUCCESS && flag && !*flag ? 0 : count, nullptr, statuses);
  }
};
using WaitedAll = TestedAll;

/// MPI_Waitany, and MPI_Testany with `flag`.
struct TestedAny {
  int count;
  const MPI_Request* requests;
  const int* index;
  MPI_Status*& status;
  const int* flag = nullptr;
  ClaimedArray claimed{requests, count};
  void before() {
    if (claimed.claim() && status == MPI_STATUS_IGNORE) status = claimed.statuses();
  }
  void after(measurement::MpiCall& call, int result) {
    const bool is_one = result == MPI_SUCCESS && (!flag || *flag) && *index != MPI_UNDEFINED;
    claimed.end(call, result, is_one, index, status);
  }
};
using WaitedAny = TestedAny;

/// MPI_Waitsome and MPI_Testsome.
struct WaitedSome {
  int count;
  const MPI_Request* requests;
  const int* outcount;  ///< negative (MPI_UNDEFINED): there were no requests
  const int* indices;
  MPI_Status*& statuses;
  ClaimedArray claimed{requests, count};
  void before() {
    if (claimed.claim() && statuses == MPI_STATUSES_IGNORE) statuses = claimed.statuses();
  }
  void after(measurement::MpiCall& call, int result) { claimed.end(call, result, *outcount, indices, statuses); }
};

}  // namespace refrain::adapters::mpi

#pragma once
/// What is known of requests that are not complete: which handle is a receive, what a persistent request moves.
///
/// Thread safety: any thread may add, claim and release at once (MPI_THREAD_MULTIPLE), without waiting for another.
/// It rests on a rule of MPI: a handle belongs to one request, and a request is completed by one call at a time.
///
/// A call that may complete a request *claims* its entry before MPI sees it, because MPI may give the same handle to
/// another thread's new request before the completing call has returned. A claimed entry is found by nobody.
///
/// Memory: tables of cache-line buckets on mapped pages. A full table is followed by one four times as large; none
/// ever moves. A bucket counts the entries that had to pass it by, so looking for what is not there ends at once and
/// nothing has to be tidied up (the counting of passers-by is that of F14, folly's hash table).
/// Cost: one cache line to look, one more and a compare-and-swap to add.

#include <atomic>
#include <cstdint>

#include "adapters/mpi/lock.hpp"

namespace refrain::adapters::mpi {

enum class RequestKind : std::uint8_t {
  Receive,              ///< counted when it completes
  UntoldReceive,        ///< likewise, but its status says nothing
  PersistentReceive,    ///< counted whenever it completes after a start
  PersistentOperation,  ///< a send or a collective operation: `messages_sent`... are counted at every start
  Communicator,         ///< makes `communicator` usable under the handle at `communicator_handle`
};

struct TrackedRequest {
  std::atomic<std::uint64_t>* slot;  ///< where its key is; the table's own
  std::uint64_t key;                 ///< likewise
  RequestKind kind;
  bool active;  ///< of a persistent receive: started and not completed
  std::int32_t communicator;
  void* communicator_handle;
  std::int64_t messages_sent, bytes_sent, bytes_received;
};
static_assert(sizeof(TrackedRequest) <= 64);

class RequestTable {
 public:
  /// `handle` is never 0. Null when there is no memory. A forgotten request of the same handle is replaced.
  TrackedRequest* add(std::uint64_t handle, RequestKind kind);
  /// The entry, which stays visible; null when the handle is not tracked.
  TrackedRequest* find(std::uint64_t handle) { return look(handle, false); }
  /// The entry, hidden until `release` or `return_claim`.
  TrackedRequest* claim(std::uint64_t handle) { return look(handle, true); }
  void return_claim(TrackedRequest& request) { request.slot->store(request.key, std::memory_order_release); }
  /// Removes a claimed entry.
  void release(TrackedRequest& request);

  /// Entries, claimed ones too. To be called when nothing is under way.
  std::uint64_t size() const;
  /// Gives the memory back. To be called when nothing is under way.
  void clear();

 private:
  struct Bucket;
  struct Table;
  TrackedRequest* look(std::uint64_t handle, bool claim);
  Table* grow(Table* full);

  std::atomic<Table*> newest_{nullptr};
  Lock growing_;
};

extern RequestTable request_table;

}  // namespace refrain::adapters::mpi

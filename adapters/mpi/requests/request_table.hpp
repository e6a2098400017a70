#pragma once
/// What is known of requests that are not complete: where and how each was begun, what it moves.
///
/// Thread safety: any thread may add, claim and release at once (MPI_THREAD_MULTIPLE), without waiting for another.
/// It rests on a rule of MPI: a handle belongs to one request, and a request is completed by one call at a time. Where
/// an MPI gives one handle to all sends that are complete at once (MPICH), one entry stands for them.
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
#include "measurement/open_call.hpp"
#include "platform/hot.hpp"

namespace refrain::adapters::mpi {

enum class RequestKind : std::uint8_t {
  Send,
  Receive,        ///< counted when it completes, by its status
  UntoldReceive,  ///< likewise, but its status says nothing
  Collective,
  OneSided,
  FileRead,  ///< counted when it completes, by its status
  FileWrite,
  Communicator,
  Generalized,
};

inline bool is_receive_kind(RequestKind kind) {
  return kind == RequestKind::Receive || kind == RequestKind::UntoldReceive;
}
inline bool is_counted_at_completion(RequestKind kind) {
  return is_receive_kind(kind) || kind == RequestKind::FileRead || kind == RequestKind::FileWrite;
}

struct TrackedRequest {
  std::uint64_t key;     ///< the table's own
  std::int32_t to_slot;  ///< likewise: distance to its slot() in the table, in slots
  RequestKind kind;
  bool persistent;
  bool active;                 ///< begun, or started, and not completed
  bool partitioned : 1;        ///< its messages are matched apart from others
  bool doubted : 1;            ///< MPI_Cancel was called for it
  measurement::BegunAt begun;  ///< by which call, or started last when it is persistent
  std::uint64_t number;        ///< of what was begun then (MpiCall::number_of_request())
  std::int32_t peer, tag;  ///< as the program gave them, wildcards too; peer: also the root of a collective operation
  std::uint64_t communicator;  ///< bits of its handle, or its id (communicator_of()); of a one-sided operation the
                               ///< window's
  union {
    std::int64_t bytes_sent;       ///< by sends and collective operations; of persistent ones counted at every start
    std::uint64_t ordinal_plus_1;  ///< of receives: its number (numbering.hpp), 0: none
  };
  union {
    std::int64_t bytes_received;  ///< by collective operations, likewise
    std::uint64_t tags_before;    ///< of receives: of its number
  };

  std::atomic<std::uint64_t>& slot() { return reinterpret_cast<std::atomic<std::uint64_t>*>(this)[to_slot]; }
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
  void return_claim(TrackedRequest& request) { request.slot().store(request.key, std::memory_order_release); }
  /// Whether the entry is that of `handle`.
  static bool is_of(const TrackedRequest& request, std::uint64_t handle);
  /// Moves a claimed entry to the handle that its request has now, perhaps another one. The entry stays claimed. Null:
  /// no memory.
  TrackedRequest* move(TrackedRequest& request, std::uint64_t handle);
  /// Removes a claimed entry.
  void release(TrackedRequest& request);

  /// Entries, claimed ones too; `active`: of requests that are. To be called when nothing is under way.
  std::uint64_t size() const;
  std::uint64_t active() const;
  /// Gives the memory back. To be called when nothing is under way.
  void clear();

 private:
  struct Bucket;
  struct Table;
  TrackedRequest* look(std::uint64_t handle, bool claim);
  Table* grow(Table* full);
  template <class F>
  std::uint64_t count(F&& counts) const;

  std::atomic<Table*> newest_{nullptr};
  Lock growing_;
};

REFRAIN_OF_THIS_LIBRARY extern RequestTable request_table;

}  // namespace refrain::adapters::mpi

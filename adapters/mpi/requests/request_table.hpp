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
#include "events/record.hpp"
#include "measurement/open_call.hpp"
#include "platform/hot.hpp"

namespace refrain::adapters::mpi {

/// What is counted when its request completes, by the status.
inline bool is_counted_at_completion(events::Kind kind) {
  return kind == events::Kind::Receive || kind == events::Kind::Read || kind == events::Kind::Write;
}

struct TrackedRequest {
  std::uint64_t key;     ///< the table's own
  std::int32_t to_slot;  ///< likewise: distance to its slot() in the table, in slots
  events::Kind kind;     ///< of the communication that it completes
  bool persistent;
  bool active;                           ///< begun, or started, and not completed
  bool untold : 1;                       ///< a receive of which the status says nothing
  bool matched : 1;                      ///< a receive of a message that was matched before, and numbered then
  bool partitioned : 1;                  ///< its messages are matched apart from others
  bool doubted : 1;                      ///< MPI_Cancel was called for it
  measurement::BegunAt begun;            ///< by which call, or started last when it is persistent
  std::uint64_t number;                  ///< of what was begun then (MpiCall::number_of_request())
  std::int32_t peer, tag, communicator;  ///< as records have them; of messages known where events are kept
  union {
    std::int64_t bytes_sent;  ///< of persistent requests counted at every start
    std::uint64_t ordinal;    ///< of receives, where events are kept: the number, or a ticket (channels.hpp)
  };
  union {
    std::int64_t bytes_received;  ///< by collective and one-sided operations, likewise
    std::uint64_t tags_before;    ///< of receives: of the number
  };

  std::atomic<std::uint64_t>& slot() { return reinterpret_cast<std::atomic<std::uint64_t>*>(this)[to_slot]; }
};
static_assert(sizeof(TrackedRequest) <= 64);

class RequestTable {
 public:
  /// `handle` is never 0. Null when there is no memory. A forgotten request of the same handle is replaced.
  TrackedRequest* add(std::uint64_t handle, events::Kind kind);
  /// The entry, which stays visible; null when the handle is not tracked.
  TrackedRequest* find(std::uint64_t handle) { return look(handle, false); }
  /// The entry, hidden until `release` or `return_claim`.
  TrackedRequest* claim(std::uint64_t handle) { return look(handle, true); }
  void return_claim(TrackedRequest& request) { request.slot().store(request.key, std::memory_order_release); }
  /// Whether the entry is that of `handle`.
  static bool has_handle(const TrackedRequest& request, std::uint64_t handle);
  /// Moves a claimed entry to the handle that its request has now, perhaps another one. The entry stays claimed. Null:
  /// no memory.
  TrackedRequest* move(TrackedRequest& request, std::uint64_t handle);
  /// Removes a claimed entry.
  void release(TrackedRequest& request);

  /// How many entries, claimed ones too, are such. To be called when nothing is under way.
  std::uint64_t count(bool (*is_such)(const TrackedRequest&)) const;

 private:
  struct Bucket;
  struct Table;
  TrackedRequest* look(std::uint64_t handle, bool claim);
  Table* grow(Table* full);

  std::atomic<Table*> newest_{nullptr};
  Lock growing_;
};

REFRAIN_OF_THIS_LIBRARY extern RequestTable request_table;

}  // namespace refrain::adapters::mpi

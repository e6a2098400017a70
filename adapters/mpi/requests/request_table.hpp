#pragma once
/// Requests that are not complete: where and how each was begun, and what it transfers.
///
/// Thread safety: any thread may add, claim and release at the same time (MPI_THREAD_MULTIPLE), without waiting for
/// others. This relies on a rule of MPI: a handle belongs to one request, and a request is completed by one call at a
/// time. Where an MPI gives one handle to all sends that complete immediately (MPICH), one entry stands for them.
///
/// A call that may complete a request *claims* its entry before MPI sees it, because MPI may give the same handle to
/// another thread's new request before the completing call has returned. A claimed entry cannot be found.
///
/// Memory: tables of cache-line buckets on mapped pages. A full table is followed by one four times as large; none ever
/// moves. A bucket counts the entries that had to pass it, so a search for a missing handle ends early and nothing has
/// to be cleaned up (as in F14, folly's hash table). Cost: one cache line to find an entry, one more and a
/// compare-and-swap to add one.

#include <atomic>
#include <cstdint>

#include "adapters/mpi/lock.hpp"
#include "events/record.hpp"
#include "measurement/open_call.hpp"
#include "platform/hot.hpp"

namespace refrain::adapters::mpi {

/// Whether a request of this kind counts when it completes, according to its status.
inline bool is_counted_at_completion(events::Kind kind) {
  return kind == events::Kind::Receive || kind == events::Kind::Read || kind == events::Kind::Write;
}

struct TrackedRequest {
  std::uint64_t key;     ///< private to the table
  std::int32_t to_slot;  ///< likewise: distance to slot(), in slots
  events::Kind kind;     ///< kind of the communication
  bool persistent;
  bool active;                           ///< begun or started, and not completed
  bool untold : 1;                       ///< a receive whose status does not tell source and tag
  bool matched : 1;                      ///< a receive of a message that was matched and numbered before
  bool partitioned : 1;                  ///< its messages match only partitioned ones
  bool doubted : 1;                      ///< MPI_Cancel was called for it
  measurement::BegunAt begun;            ///< the call that began it, or last started it
  std::uint64_t number;                  ///< of that begin or start (MpiCall::number_of_request())
  std::int32_t peer, tag, communicator;  ///< as in records; for messages only while events are kept
  union {
    std::int64_t bytes_sent;  ///< of persistent requests: counted at every start
    std::uint64_t ordinal;    ///< of receives, while events are kept: the number, or a ticket (channels.hpp)
  };
  union {
    std::int64_t bytes_received;  ///< of collective and one-sided operations, likewise
    std::uint64_t tags_before;    ///< of receives: part of the number
  };

  std::atomic<std::uint64_t>& slot() { return reinterpret_cast<std::atomic<std::uint64_t>*>(this)[to_slot]; }
};
static_assert(sizeof(TrackedRequest) <= 64);

class RequestTable {
 public:
  /// Adds an entry; `handle` must not be 0. Null: no memory. Replaces a forgotten request of the same handle.
  TrackedRequest* add(std::uint64_t handle, events::Kind kind);
  /// The entry, which stays visible; null: the handle is not tracked.
  TrackedRequest* find(std::uint64_t handle) { return look(handle, false); }
  /// The entry, hidden until `release` or `return_claim`.
  TrackedRequest* claim(std::uint64_t handle) { return look(handle, true); }
  void return_claim(TrackedRequest& request) { request.slot().store(request.key, std::memory_order_release); }
  /// Whether the entry belongs to `handle`.
  static bool has_handle(const TrackedRequest& request, std::uint64_t handle);
  /// Moves a claimed entry to the handle that its request has now, which may be a different one. The entry stays
  /// claimed. Null: no memory.
  TrackedRequest* move(TrackedRequest& request, std::uint64_t handle);
  /// Removes a claimed entry.
  void release(TrackedRequest& request);

  /// Counts the entries, including claimed ones, for which `is_such` is true. No calls may be in progress.
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

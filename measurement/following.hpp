#pragma once
/// A location whose units end where the iterations of the process's first thread begin and end (boundaries.hpp).
///
/// The first thread only publishes that a span has ended. The thread that follows notices it when something is about to
/// be recorded: at a tick, at the ends of an MPI call, at a mark. Then the unit in progress, which belongs to the span
/// that the thread knew last, goes to a queue as it is, and the spans that nothing was recorded in go with the next
/// one. That is all that a handler has to do. What is in the queue becomes iterations later, in ordinary context of the
/// first thread (followers.hpp).
///
/// Wall time is exact, by the published times. CPU time is read when a boundary is noticed and shared over the time
/// since the last reading in proportion to wall time. Metrics that are asked for are not read for it: what passes
/// between two of their readings is counted where the second is. What is outside of iterations is settled at once.
///
/// Memory: one queue per location, touched as it is used. What it cannot hold counts as time outside of iterations
/// (Loss::IterationUnclustered).

#include <atomic>
#include <cstdint>

#include "measurement/boundaries.hpp"
#include "measurement/location.hpp"
#include "platform/pages.hpp"

namespace refrain::measurement {

/// Spans, but for those outside of iterations, in which nothing was recorded on a living thread.
struct Passed {
  std::uint64_t first;  ///< they end with the unit that they go with
  platform::Ticks wall;
  std::int64_t cpu_ns;
  NodeId call;  ///< MPI call in which they were passed, else the root
};

/// An item of the queue: a number of these, then per call path its key and its values.
struct FollowedUnit {
  std::uint64_t words;  ///< of the whole item
  SpanOf of;            ///< outside of iterations: there is no unit, only what was passed
  std::uint64_t span;   ///< of the unit
  Passed passed;
  UnitTotals totals;
  std::int64_t extra[most_extra_metrics];
};
struct FollowedPath {
  std::uint32_t node;
  NodeKind kind;
};
static_assert(sizeof(FollowedUnit) % 8 == 0 && sizeof(FollowedPath) == 8);

/// An iteration in which nothing was recorded.
struct PassedIteration {
  std::uint64_t number;
  platform::Ticks wall;
  std::int64_t cpu_ns;
  RegionId loop;
};

struct Following {
  Following() {}  // the queue is not touched

  // Of the owner, or of who holds it.
  std::atomic<std::uint64_t> epoch{0};  ///< span that the unit in progress belongs to
  bool alive = false;                   ///< a thread has the location
  Passed passed{};                      ///< not in the queue yet

  /// The thread has loops of its own: it follows no more.
  std::atomic<bool> stopped{false};

  static constexpr std::uint64_t queue_words = 16384;
  alignas(64) std::atomic<std::uint64_t> written{0};
  alignas(64) std::atomic<std::uint64_t> read{0};
  /// Who takes items out of the queue, and has what follows.
  std::atomic_flag taking;
  bool held = false;
  Iterations* iterations = nullptr;
  UnitTotals outside{};  ///< what could not become an iteration after all
  platform::GrowableArray<std::uint64_t> item;
  platform::GrowableArray<PassedIteration> passed_ones;  ///< of that item
  std::uint64_t queue[queue_words];
};

/// A span in progress becomes the present one of a location without a thread.
void begin_following(Location& location, Following& following);
/// Puts what was passed into the queue without waiting for a unit. By the owner or who holds it. Async-signal-safe.
void flush_passed(Location& location);

/// Takes the oldest item out of the queue, into `item`; null: there is none. It stays until `drop_item`.
const FollowedUnit* oldest_item(Following& following);
void drop_item(Following& following, const FollowedUnit& item);
/// Calls f(FollowedPath, values) for the call paths of an item.
template <class F>
void for_each_path(Following& following, const FollowedUnit& unit, F&& f) {
  constexpr std::size_t head = sizeof(FollowedUnit) / 8;
  for (std::size_t at = head; at < unit.words;) {
    FollowedPath path;
    std::memcpy(&path, &following.item[at], sizeof path);
    f(path, reinterpret_cast<std::int64_t*>(&following.item[at + 1]));
    at += 1 + CallTree::width(path.kind);
  }
}

}  // namespace refrain::measurement

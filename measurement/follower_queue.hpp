#pragma once
/// The units of a follower, one span after the other, until the first thread makes iterations of them (followers.hpp).
/// One thread, or one of its handlers, puts items in; one other thread takes them out.
///
/// Memory: 128 KiB a location, touched as it is used.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "measurement/boundaries.hpp"
#include "measurement/extra_metrics.hpp"
#include "measurement/location.hpp"
#include "platform/pages.hpp"

namespace refrain::measurement {

/// Consecutive spans in which the thread of the location recorded nothing. The sums are over iterations only.
struct Passed {
  std::uint64_t first;  ///< epoch of the first; the last is the span before QueuedUnit::epoch
  platform::Ticks wall;
  std::int64_t cpu_ns;
  std::int64_t off_ns;  ///< in a call: time off the CPU; else time in which the thread waited for a core
  NodeId call;          ///< MPI call that lasted throughout these spans, else the root
};

/// An item of the queue: this head, then a QueuedPath and its values for each call path.
struct QueuedUnit {
  std::uint64_t words;    ///< of the whole item
  IterationId iteration;  ///< outside_of_iterations: the item has no unit, only passed spans
  std::uint64_t epoch;    ///< number of the unit's span
  Passed passed;
  UnitTotals totals;
  std::int64_t extra[max_extra_metrics];
};
struct QueuedPath {
  std::uint32_t node;
  NodeKind kind;
};
static_assert(offsetof(QueuedUnit, words) == 0 && sizeof(QueuedUnit) % 8 == 0 && sizeof(QueuedPath) == 8);

class FollowerQueue {
 public:
  FollowerQueue() {}  // the words are not touched

  /// Appends an item: `unit` (whose `words` are filled in), and the call paths of the location's unit in progress if it
  /// is an iteration. False: there is no room. By the owner or the holder of the location. Async-signal-safe.
  bool put(const Location& location, QueuedUnit unit);

  /// The oldest item, which stays until it is dropped. Null: the queue is empty, or there is no memory to read it.
  const QueuedUnit* oldest();
  void drop(const QueuedUnit& item) {
    read_.store(read_.load(std::memory_order_relaxed) + item.words, std::memory_order_release);
  }
  /// Calls f(QueuedPath, values) for the call paths of the oldest item.
  template <class F>
  void for_each_path(const QueuedUnit& unit, F&& f) {
    constexpr std::size_t head = sizeof(QueuedUnit) / 8;
    for (std::size_t at = head; at < unit.words;) {
      QueuedPath path;
      std::memcpy(&path, &item_[at], sizeof path);
      f(path, reinterpret_cast<std::int64_t*>(&item_[at + 1]));
      at += 1 + CallTree::width(path.kind);
    }
  }

 private:
  static constexpr std::uint64_t capacity = 16384;  // words

  alignas(64) std::atomic<std::uint64_t> written_{0};
  alignas(64) std::atomic<std::uint64_t> read_{0};
  platform::GrowableArray<std::uint64_t> item_;  ///< contiguous copy of the oldest item
  std::uint64_t words_[capacity];
};

}  // namespace refrain::measurement

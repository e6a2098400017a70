#pragma once
/// What a location that follows has recorded, span after span, until somebody makes iterations of it
/// (followers.hpp). One thread, or one of its handlers, puts items in; one other takes them out.
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

/// Consecutive spans in which the location had a thread that recorded nothing; only those of iterations count.
struct Passed {
  std::uint64_t first;  ///< the last one is that before QueuedUnit::epoch
  platform::Ticks wall;
  std::int64_t cpu_ns;
  std::int64_t off_ns;  ///< in a call: off the CPU; else waited for a core
  NodeId call;          ///< MPI call in which the spans were passed, else the root
};

/// An item of the queue: this, then per call path a QueuedPath and its values.
struct QueuedUnit {
  std::uint64_t words;    ///< of the whole item
  IterationId iteration;  ///< outside of iterations: there is no unit, only what was passed
  std::uint64_t epoch;    ///< number of that span
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

  /// Puts in an item: `unit` (its `words` are filled in), and the call paths of the location's unit in progress when it
  /// is one of an iteration. False: there is no room. By the owner or who holds it. Async-signal-safe.
  bool put(const Location& location, QueuedUnit unit);

  /// The oldest item; null: there is none, or no memory to read it. It stays until it is dropped.
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
  platform::GrowableArray<std::uint64_t> item_;  ///< the oldest, in one piece
  std::uint64_t words_[capacity];
};

}  // namespace refrain::measurement

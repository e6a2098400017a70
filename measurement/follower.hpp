#pragma once
/// A follower: a location whose units end where the iterations of the process's first thread begin and end
/// (boundaries.hpp).
///
/// The first thread only publishes that a span has ended. The follower's thread notices it when it is about to record
/// something: at a tick, at either end of an MPI call, at a mark. It then moves the unit in progress, which belongs to
/// the last span that it knew, to a queue. Spans in which it recorded nothing are passed: their sums go with the next
/// unit. A handler does no more than that. The first thread makes iterations of the queue later, in ordinary context
/// (followers.hpp).
///
/// Wall time is exact, by the published times. CPU time is read when a boundary is noticed and divided over the time
/// since the last reading in proportion to wall time. Extra metrics are not read at a boundary: their growth between
/// two readings is counted in the unit of the second one. Time outside of iterations is counted as such at once.
///
/// Memory: one queue per location, touched as it is used. Units that do not fit count as time outside of iterations
/// (Loss::IterationUnclustered).

#include <atomic>
#include <cstdint>

#include "measurement/boundaries.hpp"
#include "measurement/follower_queue.hpp"
#include "measurement/iterations.hpp"
#include "measurement/location.hpp"
#include "platform/pages.hpp"

namespace refrain::measurement {

/// The part of the weight of a sampled call path that stands for passed iterations.
struct WeightOfPassed {
  std::uint32_t node;
  std::int64_t weight;
};

struct Follower {
  // Written by the owner, or by the thread that holds the location.
  std::atomic<std::uint64_t> epoch{0};  ///< number of the span that the unit in progress belongs to
  bool alive = false;                   ///< a thread owns the location
  Passed passed{};                      ///< not in the queue yet

  /// The thread has loops of its own: the location is no follower any more.
  std::atomic<bool> stopped{false};

  FollowerQueue queue;

  /// Set by the thread that takes items out of the queue (FollowerLock), to which the members below belong.
  std::atomic_flag busy;
  Iterations iterations;  ///< Location::iterations; its loop in progress belongs to the owner of the location
  UnitTotals outside{};   ///< units that could not become iterations
  platform::GrowableArray<WeightOfPassed> shares;  ///< of the item that is being taken
};

inline bool is_follower(const Location& location) {
  return location.follower && !location.follower->stopped.load(std::memory_order_relaxed);
}

/// Divides a count over an interval of wall time among the parts of the interval, in proportion to their wall time.
class WallShares {
 public:
  WallShares(std::int64_t all, platform::Ticks wall) : left_(all > 0 ? all : 0), wall_(wall) {}
  std::int64_t of(platform::Ticks part) {
    if (part <= 0 || wall_ <= 0) return 0;
    const auto exact = static_cast<double>(left_) * (static_cast<double>(part) / static_cast<double>(wall_));
    const std::int64_t share = part >= wall_ ? left_ : static_cast<std::int64_t>(exact);
    left_ -= share;
    wall_ -= part;
    return share;
  }
  /// The count that is not divided yet, and the wall time that it belongs to.
  std::int64_t rest() const { return left_; }
  platform::Ticks wall() const { return wall_; }

 private:
  std::int64_t left_;
  platform::Ticks wall_;
};

/// Makes a follower of a location that has no thread yet, from the span in progress on.
void begin_following(Location& location, Follower& follower);
/// Puts the sums of passed spans into the queue without waiting for a unit. By the owner or the holder of the location.
/// Async-signal-safe.
void flush_passed(Location& location);
/// Counts passed spans as time outside of iterations. By the owner or the holder of the location. Async-signal-safe.
void count_passed_outside(Location& location, const Passed& passed);

}  // namespace refrain::measurement

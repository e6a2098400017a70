#pragma once
/// A location whose units end where the iterations of the process's first thread begin and end (boundaries.hpp).
///
/// The first thread only publishes that a span has ended. The thread that follows notices it when something is about to
/// be recorded: at a tick, at the ends of an MPI call, at a mark. Then the unit in progress, which belongs to the span
/// that the thread knew last, goes to a queue as it is. Spans in which nothing was recorded are passed: they are added
/// up and go with the next unit. That is all that a handler has to do. What is in the queue becomes iterations later,
/// in ordinary context of the first thread (followers.hpp).
///
/// Wall time is exact, by the published times. CPU time is read when a boundary is noticed and shared over the time
/// since the last reading in proportion to wall time. Extra metrics are not read for a boundary: their growth between
/// two readings is counted in the unit of the second one. Time outside of iterations is counted as such at once.
///
/// Memory: one queue per location, touched as it is used. What it cannot hold counts as time outside of iterations
/// (Loss::IterationUnclustered).

#include <atomic>
#include <cstdint>

#include "measurement/boundaries.hpp"
#include "measurement/follower_queue.hpp"
#include "measurement/iterations.hpp"
#include "measurement/location.hpp"
#include "platform/pages.hpp"

namespace refrain::measurement {

/// The part of a sampled path's weight that stands for passed iterations.
struct WeightOfPassed {
  std::uint32_t node;
  std::int64_t weight;
};

struct Follower {
  // Written by the owner, or by who holds the location.
  std::atomic<std::uint64_t> epoch{0};  ///< span that the unit in progress belongs to
  bool alive = false;                   ///< a thread has the location
  Passed passed{};                      ///< not in the queue yet

  /// The thread has loops of its own: it follows no more.
  std::atomic<bool> stopped{false};

  FollowerQueue queue;

  /// Set by who takes items out of the queue; the members below belong to that thread.
  std::atomic_flag busy;
  Iterations iterations;  ///< Location::iterations; where the thread is in loops of its own is its owner's
  UnitTotals outside{};   ///< what could not become an iteration after all
  platform::GrowableArray<WeightOfPassed> shares;  ///< of the item that is taken
};

inline bool is_follower(const Location& location) {
  return location.follower && !location.follower->stopped.load(std::memory_order_relaxed);
}

/// Shares what was counted in a stretch of wall time among the parts of the stretch, in proportion to their wall time.
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
  /// What is not shared out yet, and the wall time that it belongs to.
  std::int64_t rest() const { return left_; }
  platform::Ticks wall() const { return wall_; }

 private:
  std::int64_t left_;
  platform::Ticks wall_;
};

/// A location that has no thread yet follows from the span in progress on.
void begin_following(Location& location, Follower& follower);
/// Puts what was passed into the queue without waiting for a unit. By the owner or who holds it. Async-signal-safe.
void flush_passed(Location& location);
/// What was passed is time outside of iterations after all. By the owner or who holds it. Async-signal-safe.
void count_passed_outside(Location& location, const Passed& passed);

}  // namespace refrain::measurement

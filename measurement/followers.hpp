#pragma once
/// Serving the followers (follower.hpp): the first thread turns the contents of their queues into iterations of its own
/// loops, with the same numbers, before a queue is full and before the spans in it are overwritten.
///
/// Iterations in which the follower recorded something are clustered and logged. Iterations that it passed, because
/// they were shorter than the time between two samples or lie within one MPI call, are summed up (PassedIterations):
/// the log has the length of each run of them, and the first thread's log has the duration of each. A sample stands for
/// the time since the one before, so passed iterations get their part of the weights of the samples that come after
/// them. An iteration during which the location had no thread is logged as such.
///
/// Ordinary context, inside a scope, by the first thread; or while it is held or closed.

#include "measurement/boundaries.hpp"
#include "measurement/location.hpp"

namespace refrain::measurement {

/// Turns the contents of all queues into iterations. Followers that have not noticed a boundary for long are paused for
/// a moment.
void serve_followers(Location& first);
inline void serve_followers_if_due(Location& first) {
  if (published_epoch.load(std::memory_order_relaxed) >= followers_due.load(std::memory_order_relaxed)) [[unlikely]]
    serve_followers(first);
}

/// The lock on the queue and the loops of a follower: while it is held, no other thread makes iterations of them.
/// False: another thread has held it for too long. A location that is no follower needs no lock, and the result is
/// true.
class FollowerLock {
 public:
  static constexpr std::int64_t default_timeout_ns = 50'000'000;

  /// `timeout_ns`: how long to wait. The holder works for some milliseconds at most.
  explicit FollowerLock(Location& location, std::int64_t timeout_ns = default_timeout_ns);
  ~FollowerLock();
  FollowerLock(const FollowerLock&) = delete;
  explicit operator bool() const { return is_locked_; }

 private:
  Location& location_;
  bool is_locked_ = true;
};

/// Turns the contents of a follower's queue into iterations; does nothing for other locations. The caller has the
/// FollowerLock; the location need not be held. Losses are counted at `counted_at`.
void drain_queue(Location& location, Location& counted_at);

/// Makes iterations of everything up to the span in progress, before the experiment is written. All other locations are
/// paused or closed.
void bring_followers_up_to_date();
/// The same for one location, which is paused, closed or the calling thread's own.
void bring_up_to_date(Location& location);

/// The location has a loop of its own, which cuts it from now on. By its owner.
void stop_following(Location& location);

}  // namespace refrain::measurement

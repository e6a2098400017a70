#pragma once
/// Who looks after the locations that follow (follower.hpp), and when: what is in their queues becomes iterations of
/// the first thread's loops, with the same numbers, before a queue is full and before the spans that it tells of are
/// forgotten.
///
/// Iterations in which the thread recorded something are clustered and logged. Those that it passed, because they were
/// shorter than the time between two samples or lie within one MPI call, are added up (PassedIterations): the log says
/// how many there are one after the other, and the first thread's log how long each was. A sample stands for the time
/// since the one before, so passed iterations get their part of the weights of the samples that follow them. An
/// iteration during which the location had no thread is logged as such.
///
/// Ordinary context, inside a scope, by the first thread; or while it is held or closed.

#include "measurement/boundaries.hpp"
#include "measurement/location.hpp"

namespace refrain::measurement {

/// Makes iterations of what is in the queues; pauses for a moment the locations that have not noticed a boundary for
/// long.
void serve_followers(Location& first);
inline void serve_followers_if_due(Location& first) {
  if (published_epoch.load(std::memory_order_relaxed) >= followers_due.load(std::memory_order_relaxed)) [[unlikely]]
    serve_followers(first);
}

/// While it lives, nobody else makes iterations of what a location that follows has recorded: its loops are the calling
/// thread's. False: another thread has been at it for long. Of a location that does not follow there is nothing to wait
/// for.
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

/// Makes iterations of what is in the queue of a location that follows, if it does, which is taken but need not be
/// held. Losses are counted at `counted_at`.
void drain_queue(Location& location, Location& counted_at);

/// Makes iterations of everything up to the span in progress, before the experiment is written. All other locations are
/// paused or closed.
void bring_followers_up_to_date();
/// The same of one location, which is paused, closed or the calling thread's.
void bring_up_to_date(Location& location);

/// The location has a loop of its own, and is cut by that loop from now on. By its owner.
void stop_following(Location& location);

}  // namespace refrain::measurement

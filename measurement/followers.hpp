#pragma once
/// What the locations that follow have put into their queues (following.hpp) becomes iterations of theirs: of the same
/// loops, with the same numbers. An iteration during which a location had no thread is logged without a cluster.
///
/// Iterations in which nothing was recorded, because they were shorter than the time between two samples, go into the
/// cluster of the iteration with the next sample, as their time is what that sample stands for; if it has MPI calls or
/// regions, or is of another loop, into one of those without.
///
/// Ordinary context, inside a scope, by the first thread; or while it is held or closed.

#include "measurement/boundaries.hpp"
#include "measurement/location.hpp"

namespace refrain::measurement {

/// Takes in what is in the queues; holds for a moment those who have not noticed anything for long.
void look_after_followers(Location& first);
inline void look_after_followers_if_due(Location& first) {
  if (published_epoch.load(std::memory_order_relaxed) >= followers_due.load(std::memory_order_relaxed)) [[unlikely]]
    look_after_followers(first);
}

/// Everything up to the span in progress, for writing: all other locations are held or closed.
void bring_followers_up_to_date();

/// The location has a loop of its own now, and is cut by that one for ever. By its owner.
void stop_following(Location& location);

}  // namespace refrain::measurement

#pragma once
/// Makes iterations of what a location that follows has put into its queue (follower_queue.hpp): of the first thread's
/// loops, with the same numbers. An iteration during which the location had no thread is logged without a cluster.
///
/// Iterations in which nothing was recorded, because they were shorter than the time between two samples, go into the
/// cluster of the iteration with the next sample, as their time is what that sample stands for. If that iteration has
/// MPI calls or regions, or is of another loop, they go into a cluster of iterations without any.
///
/// By who has `Following::taking`, or holds the location; ordinary context.

#include "measurement/location.hpp"

namespace refrain::measurement {

/// Makes iterations of what is in the queue. Losses are counted at `counted_at`.
void take_items(Location& location, Location& counted_at);
/// Counts what is in the queue as time outside of iterations. By the owner or who holds it.
void give_back_items(Location& location);
/// Logs the iterations of the first thread's loops that the location has no rows for yet.
void log_missing_at_end(Location& location);

}  // namespace refrain::measurement

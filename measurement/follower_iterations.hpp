#pragma once
/// Makes iterations of what a location that follows has put into its queue (follower_queue.hpp): of the first thread's
/// loops, with the same numbers.
///
/// Iterations in which the thread recorded something are clustered and logged. Those that it passed, because they were
/// shorter than the time between two samples or lie within one MPI call, are added up (PassedIterations): the log says
/// how many there are one after the other, and the first thread's log how long each was. A sample stands for the time
/// since the one before, so passed iterations get their part of the weights of the samples that follow them. An
/// iteration during which the location had no thread is logged as such.
///
/// By who has `Following::taking`, or holds the location; ordinary context.

#include "measurement/location.hpp"

namespace refrain::measurement {

/// Makes iterations of what is in the queue. Losses are counted at `counted_at`.
void take_items(Location& location, Location& counted_at);
/// Counts what is in the queue as time outside of iterations. By the owner or who holds it.
void give_back_items(Location& location);
/// Logs the iterations of the first thread's loops that the location has no rows for yet, if the first thread is held.
void log_missing_at_end(Location& location);

}  // namespace refrain::measurement

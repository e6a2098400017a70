#pragma once
/// Scopes that the program has left by a jump (longjmp, an exception, the end of a thread): calls in progress, and
/// Refrain's own bookkeeping in an entry or a tick, when a signal handler of the program interrupted it and did not
/// return. The next entry or tick on the location, or the end of the thread, detects this.
///
/// Bookkeeping may be left at any instruction. Its stores are ordered such that mend() can make the data consistent
/// again; what a tick would have recorded is lost and counted (tick_abandoned).

#include "measurement/location.hpp"

namespace refrain::measurement {

/// Ends the scope in progress if the program has left it. `caller`: the registers of the function that calls now
/// (open_call.hpp). True: the thread is in the program's code. False: it is in a call or scope that is alive, or
/// nothing is measured. Ordinary context.
bool leave_abandoned_scope(Location& location, const platform::Registers& caller);

/// Where a tick that has interrupted this code finds the thread. Scopes that the program has left are ended first, so
/// the thread is never reported in them. Async-signal-safe.
Inside inside_at_tick(Location& location, const unwind::Start& interrupted);

/// Ends a tick in progress that will not go on because the thread or its measurement ends. By the owner. Returns where
/// the thread is. Ordinary context.
Inside end_unfinished_bookkeeping(Location& location);

}  // namespace refrain::measurement

#pragma once
/// Scopes that the program has left by a jump (longjmp, an exception, the end of a thread): calls in progress, and
/// Refrain's own bookkeeping, in an entry or in a tick, when a signal handler of the program that had interrupted it
/// did not return. Whatever comes next on the location finds out: an entry, a tick, or the end of the thread.
///
/// Bookkeeping may be left at any instruction. What it changes is written in an order in which it can be made whole
/// again (mend); what a tick would have recorded is lost, and counted (tick_abandoned).

#include "measurement/location.hpp"

namespace refrain::measurement {

/// Ends what is in progress and gone, seen from the function with the registers `caller` (open_call.hpp). True: the
/// thread is in the program's code now. False: it is in a call or scope that is alive, or nothing is measured. Ordinary
/// context.
bool leave_abandoned_scope(Location& location, const platform::Registers& caller);

/// Where a tick that has interrupted this code finds the thread, after ending what is gone: not in bookkeeping that the
/// program has left. Async-signal-safe.
Inside inside_at_tick(Location& location, const unwind::Start& interrupted);

/// For the owner of a location whose tick, if one is in progress, will not go on: the thread ends, or its measurement.
/// Where the thread is. Ordinary context.
Inside end_unfinished_bookkeeping(Location& location);

}  // namespace refrain::measurement

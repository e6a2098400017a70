#pragma once
/// Calls that are let through because the thread is in a call already.

#include "measurement/location.hpp"

namespace refrain::measurement {

/// The address lies on the stack of the location's thread, not on that of a fiber. Async-signal-safe.
bool is_on_own_stack(const Location& location, std::uintptr_t address);

/// A call on another stack than that of the call in progress is no part of it: MPI has switched to another user-level
/// thread, which is not measured, or a signal handler on an alternate stack calls. Ordinary context.
void note_call_within(Location& location, const platform::Registers& caller);

}  // namespace refrain::measurement

#pragma once
/// Calls that pass through because the thread is in a call already.

#include "measurement/location.hpp"

namespace refrain::measurement {

/// The address lies on the stack of the location's thread, not on that of a fiber. Async-signal-safe.
bool is_on_own_stack(const Location& location, std::uintptr_t address);

/// A call that is made with the stack pointer `sp`, while another one is in progress, passes through. On another stack
/// than that one's it is no part of it: MPI has switched to another user-level thread, which is not measured, or a
/// signal handler on an alternate stack calls. From there on messages have no sequence numbers. Ordinary context.
void note_call_within(Location& location, std::uintptr_t sp);

}  // namespace refrain::measurement

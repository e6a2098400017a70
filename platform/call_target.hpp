#pragma once
/// What a call instruction calls, read from the code before its return address.

namespace refrain::platform {

/// The function that the call before `return_address` names, through the procedure linkage table if it goes through
/// one. Null: the call is of another form (through a register or a table). The address must lie in loaded code.
/// Ordinary context.
const void* call_target(const void* return_address);

}  // namespace refrain::platform

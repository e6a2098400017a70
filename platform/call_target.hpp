#pragma once
/// Finds the target of a call instruction from the code before its return address.

namespace refrain::platform {

/// The function that the call before `return_address` names, also if it goes through the procedure linkage table. Null:
/// the call is of another form (through a register or a table). The address must lie in loaded code. Ordinary context.
const void* call_target(const void* return_address);

}  // namespace refrain::platform

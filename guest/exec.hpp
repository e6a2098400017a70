#pragma once
/// The functions by which a process becomes another program (exec.cpp).

namespace refrain::guest {

/// Looks up what they call: in a child there may be no other chance.
void find_exec_functions();

}  // namespace refrain::guest

#pragma once
/// A wrapper that has no function to go on to.

namespace refrain::adapters::mpi {

/// Says which function it is and ends the process, with the dynamic linker's status for a symbol that is not defined:
/// without Refrain it would be just that. A program that went on would compute with values that were never set.
[[noreturn]] void end_without_function(const char* name);

}  // namespace refrain::adapters::mpi

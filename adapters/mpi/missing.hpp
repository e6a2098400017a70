#pragma once
/// For a wrapper whose MPI function does not exist.

namespace refrain::adapters::mpi {

/// Reports which function is missing and ends the process with the dynamic linker's status for an undefined symbol, as
/// would happen without Refrain. A program that went on would compute with values that nobody has set.
[[noreturn]] void end_without_function(const char* name);

}  // namespace refrain::adapters::mpi

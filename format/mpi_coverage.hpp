#pragma once
/// Which functions of the installed MPIs are wrapped, as the build found out. Needs no MPI.

#include <span>

namespace refrain::format {

struct FunctionCoverage {
  const char* mpi;        ///< "openmpi" or "mpich"
  const char* function;   ///< "MPI_Send"
  const char* operation;  ///< its class in functions.table; "unwrapped"
  const char* reason;     ///< why it is not wrapped; empty if it is
};

/// Every function that mpi.h declares, by MPI and name, including the MPI_T_ interface.
std::span<const FunctionCoverage> function_coverage();

}  // namespace refrain::format

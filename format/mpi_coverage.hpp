#pragma once
/// Which functions of the installed MPIs are wrapped, as the build found them. Needs no MPI.

#include <span>

namespace refrain::format {

struct FunctionCoverage {
  const char* mpi;        ///< "openmpi" or "mpich"
  const char* function;   ///< "MPI_Send"
  const char* operation;  ///< its class in functions.table; "unwrapped"
  const char* reason;     ///< why it is not wrapped; empty when it is
};

/// Every function that mpi.h declares, by MPI and name; the MPI_T_ interface too.
std::span<const FunctionCoverage> function_coverage();

}  // namespace refrain::format

#pragma once
/// Which functions of the installed MPIs are wrapped, as the build found them. Needs no MPI.

#include <cstddef>
#include <span>

namespace refrain::format {

struct FunctionCoverage {
  const char* mpi;        ///< "openmpi" or "mpich"
  const char* function;   ///< "MPI_Send"
  const char* operation;  ///< its class in functions.table; "unwrapped"
  const char* reason;     ///< why it is not wrapped; empty when it is
};

/// A row of functions.table: functions of any MPI, in C or in Fortran only.
struct KnownFunction {
  const char* function;
  const char* operation;
  const char* reason;       ///< why it is not wrapped, in words; empty when it is
  const char* reason_name;  ///< "conversion"
};
std::span<const KnownFunction> known_functions();

/// Every function that mpi.h declares, by MPI and name; the MPI_T_ interface too.
std::span<const FunctionCoverage> function_coverage();

}  // namespace refrain::format

#pragma once
/// Which functions of the installed MPIs are wrapped, in each language: what their libraries export against what
/// Refrain's runtime library for that MPI exports, which comes before them in a measured program.

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace refrain::tools {

enum class MpiInterface { C, Fortran, Fortran2008 };
inline constexpr std::array mpi_interface_names = {"C", "mpif.h, use mpi", "use mpi_f08"};

struct MpiFunctionCoverage {
  std::string name;       ///< "MPI_Send"
  std::string operation;  ///< its class in adapters/mpi/calls/functions.table, "unknown" when it has no row
  std::string reason;     ///< why it is not wrapped; empty when it is
  bool counts;            ///< an operation of MPI: no conversion of handles, no tool interface, no constant
  bool essential;         ///< communicates, completes, synchronises, or makes communicators, windows or files
  std::array<std::optional<bool>, 3> wrapped;  ///< by interface; nothing: that interface has no such function
};

struct MpiCoverage {
  std::string mpi;  ///< "openmpi"
  bool found;       ///< both its C library and Refrain's are there
  std::vector<MpiFunctionCoverage> functions;
};

/// Of "openmpi" or "mpich". `executable`: the running `refrain`, beside which the runtime libraries lie.
MpiCoverage mpi_coverage(const std::string& executable, const std::string& mpi);

/// Whether a symbol is the name of one of MPI's functions, in C or as a Fortran compiler spells it, by the MPI_ or the
/// PMPI_ name. Programs have functions and data of their own whose names begin like these.
bool is_mpi_function(const std::string& symbol);

/// Prints it; "text" or "json".
void print_mpi_coverage(const std::vector<MpiCoverage>& all, const std::string& format);

}  // namespace refrain::tools

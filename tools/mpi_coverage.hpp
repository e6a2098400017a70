#pragma once
/// Which functions of the installed MPIs are wrapped, per language: compares the exports of their libraries with those
/// of Refrain's runtime library for that MPI, which precedes them in a measured program.

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
  bool counts;            ///< an MPI operation: not a handle conversion, tool interface or predefined callback
  bool essential;         ///< communicates, completes, synchronises, or creates communicators, windows or files
  std::array<std::optional<bool>, 3> wrapped;  ///< by interface; nothing: that interface has no such function
};

struct MpiCoverage {
  std::string mpi;  ///< "openmpi"
  bool found;       ///< both its C library and Refrain's exist
  std::vector<MpiFunctionCoverage> functions;
};

/// `mpi`: "openmpi" or "mpich". `executable`: the running `refrain`; the runtime libraries are found relative to it.
MpiCoverage mpi_coverage(const std::string& executable, const std::string& mpi);

/// Whether a symbol is the MPI_ or PMPI_ name of an MPI function, in C or as a Fortran compiler spells it. Programs
/// have functions and data of their own whose names begin alike.
bool is_mpi_function(const std::string& symbol);

/// Prints the coverage; `format` is "text" or "json".
void print_mpi_coverage(const std::vector<MpiCoverage>& all, const std::string& format);

}  // namespace refrain::tools

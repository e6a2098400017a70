#pragma once
/// Wrappers of the Fortran functions of MPI: every spelling that compilers make unless told otherwise (generate.py),
/// from the same table as the C wrappers.
///
/// A Fortran function converts handles, constants and strings and calls the C function. So its wrapper takes the call
/// path and the time, passes all arguments on as they are, and *announces* its region on the location; the wrapper of
/// the C function, which sees what C sees, finds the announcement and adds its effect to the call in progress
/// (measurement/mpi_call.hpp). A call is counted once by construction: what is called within it is nested. Functions
/// that Fortran libraries implement without the C function (attributes, error handlers) are counted like all others.
///
/// Sentinels (MPI_IN_PLACE, MPI_BOTTOM, MPI_STATUS_IGNORE, ...) are addresses that only MPI's library can tell.
///
/// Names like mpi_init_ are not rare, and a preloaded library comes before all others: what a name means is looked up
/// at its first call, and when the next definition is not in MPI's Fortran libraries the call goes there untouched,
/// with every register as it was (x86_64/fortran_stubs.cpp).
///
/// Thread safety: any thread. Not for handlers.

#include <cstdint>

#include "measurement/location.hpp"

namespace refrain::adapters::mpi {

/// One spelling.
struct FortranSymbol {
  std::uint32_t name;            ///< offset in `fortran_symbol_names`
  measurement::RegionId region;  ///< of the C function
  std::uint16_t words;           ///< of arguments on the stack, at most; an even number
};
extern const FortranSymbol fortran_symbols[];
extern const char fortran_symbol_names[];

/// The address of the next definition of `name` after ours, in the global scope or in a Fortran library of MPI that was
/// loaded locally. Null: there is none.
void* next_fortran_function(const char* name);

}  // namespace refrain::adapters::mpi

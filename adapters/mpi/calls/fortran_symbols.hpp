#pragma once
/// Wrappers of the Fortran functions of MPI, in every spelling that compilers make by default (generate.py). They come
/// from the same table as the C wrappers.
///
/// A Fortran function converts handles, constants and strings, and calls the C function. So its wrapper takes the call
/// path and the time, passes all arguments on unchanged, and *announces* its region on the location. The wrapper of the
/// C function, which sees C's arguments, finds the announcement and adds its effect to the call in progress
/// (measurement/mpi_call.hpp). A call cannot be counted twice, because a call made inside it is nested. Functions that
/// Fortran libraries implement without the C function (attributes, error handlers) count like all others.
///
/// Sentinels (MPI_IN_PLACE, MPI_BOTTOM, MPI_STATUS_IGNORE, ...) are addresses that only MPI's library can tell.
///
/// Names like mpi_init_ are not rare, and a preloaded library comes before all others. So each name is looked up at its
/// first call. If the next definition is not in MPI's Fortran libraries, the call goes there with every register
/// unchanged (x86_64/fortran_stubs.cpp).
///
/// Thread safety: any thread. Not for handlers.

#include <cstdint>

#include "measurement/location.hpp"

namespace refrain::adapters::mpi {

/// One spelling of a function.
struct FortranSymbol {
  std::uint32_t name;            ///< offset in `fortran_symbol_names`
  measurement::RegionId region;  ///< region of the C function
  std::uint16_t words;           ///< most words of arguments on the stack; an even number
};
extern const FortranSymbol fortran_symbols[];
extern const char fortran_symbol_names[];

/// The next definition of `name` after ours, in the global scope or in a Fortran library of MPI that was loaded
/// locally. Null: there is none.
void* next_fortran_function(const char* name);

}  // namespace refrain::adapters::mpi

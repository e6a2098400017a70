#pragma once
/// What kind of call an MPI function is: the rows of adapters/mpi/calls/functions.table, from which the wrappers are
/// made, too. Every reader of measurements asks here; nothing else interprets names of functions. Needs no MPI.

#include <cstdint>
#include <span>
#include <string_view>

namespace refrain::format {

/// The column CLASS of functions.table. mpi_classes.def says what follows from a class.
enum class MpiClass : std::uint8_t {
#define MPI_CLASS(name, ...) name,
#include "format/mpi_classes.def"
#undef MPI_CLASS
};
const char* name_of(MpiClass of);  ///< "collective_nxn"

/// Includes barriers and operations among neighbours.
constexpr bool is_collective(MpiClass of) { return of >= MpiClass::barrier && of <= MpiClass::collective_neighbor; }

/// How an operation completes: with its call, with a request that the call makes, or with that request after each of
/// its starts.
enum class MpiForm : std::uint8_t { Blocking, NonBlocking, Persistent };

/// The column WAITS of functions.table: what a process may wait for in a call. From `receive` on, durations of calls
/// tell how long, by the rows of waits/kinds.def.
enum class MpiWaits : std::uint8_t {
  nobody,
  others,  ///< no event tells how long
  window,  ///< operations or epochs of a window
  job,     ///< all processes, at their end
  receive,
  probe,
  poll,  ///< the call returns if it has found nothing, and is repeated
  completion,
  send,
  ssend,
  barrier,
  nxn,
  broadcast,
  reduce,
  scan,
  exscan,
  fence,
  start,
  complete,
  exposure,
  lock,
  init,
};

struct MpiFunction {
  std::string_view name;  ///< as in C: "MPI_Iallreduce_c"
  MpiClass of;
  MpiForm form;
  MpiWaits waits;
  /// What a completed call does, the same for all forms: "Allreduce". For a function that is not wrapped, the reason.
  std::string_view effect;
};

/// The functions of all MPIs, including those only in Fortran, in the order of their names in small letters.
std::span<const MpiFunction> mpi_functions();

/// Finds a function by a name as programs, archives of other tools and Fortran compilers write it: in any case, by the
/// MPI_ or the PMPI_ name, with or without trailing underscores. Null: there is no such function.
const MpiFunction* find_mpi_function(std::string_view name);
/// Whether a name begins like those of MPI and its extensions. There may be no such function.
bool is_mpi_name(std::string_view name);

/// A sentence that says why functions with a reason such as "clock" are not wrapped. Empty: there is no such reason.
std::string_view text_of_reason(std::string_view reason);

}  // namespace refrain::format

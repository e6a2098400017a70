#pragma once
/// What kind of call a function of MPI is: the rows of adapters/mpi/calls/functions.table, which also drive the
/// wrappers. Every reader of measurements asks here, and no name is looked into elsewhere. Needs no MPI.

#include <cstdint>
#include <span>
#include <string_view>

namespace refrain::format {

/// CLASS of functions.table. What follows from a class is in mpi_classes.def.
enum class MpiClass : std::uint8_t {
#define MPI_CLASS(name, ...) name,
#include "format/mpi_classes.def"
#undef MPI_CLASS
};
const char* name_of(MpiClass of);  ///< "collective_nxn"

/// Barriers and operations of neighbours included.
constexpr bool is_collective(MpiClass of) { return of >= MpiClass::barrier && of <= MpiClass::collective_neighbor; }

/// How an operation is completed: by its call, by the completion of a request that the call makes, or likewise after
/// each start of that request.
enum class MpiForm : std::uint8_t { Blocking, NonBlocking, Persistent };

/// WAITS of functions.table: for whom a process may wait in a call. From `receive` on durations of calls tell how long,
/// by the rows of waits/kinds.def.
enum class MpiWaits : std::uint8_t {
  nobody,
  others,  ///< no event tells how long
  window,  ///< operations or epochs of a window
  job,     ///< all processes, at their end
  receive,
  probe,
  poll,  ///< the call returns when it has found nothing, and is made again
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
  /// What a completed call does, the same for all forms: "Allreduce". Of functions that are not wrapped the reason.
  std::string_view effect;
};

/// Of any MPI, those of Fortran included, in the order of their names in small letters.
std::span<const MpiFunction> mpi_functions();

/// By a name as programs, archives of other tools and Fortran compilers have it: in any case, by the MPI_ or the PMPI_
/// name, with or without underscores at its end. Null: there is no such function.
const MpiFunction* find_mpi_function(std::string_view name);
/// Whether a name begins like those of MPI and of its extensions. There may be no such function.
bool is_mpi_name(std::string_view name);

/// In a sentence, why functions with such a reason are not wrapped: of "clock", ... Empty: there is no such reason.
std::string_view text_of_reason(std::string_view reason);

}  // namespace refrain::format

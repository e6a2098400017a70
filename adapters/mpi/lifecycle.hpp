#pragma once
/// Begin and end of MPI, and MPI_Pcontrol. Called by the generated wrappers of functions whose effect is Written, and
/// by those of the Fortran functions (calls/fortran_symbols.cpp).
///
/// Thread safety: any thread. Not for handlers.

#include "adapters/mpi/mpi_header.hpp"
#include "measurement/location.hpp"
#include "platform/function_ref.hpp"

namespace refrain::adapters::mpi {

/// Makes the program's call and returns its result.
using PassOn = platform::FunctionRef<int()>;

/// The program calls a function that begins or ends MPI. `caller` are the registers at the call.
int call_lifecycle(measurement::RegionId region, const platform::Registers& caller, PassOn call);
/// The program calls MPI_Pcontrol.
int call_control(int level, const platform::Registers& caller, PassOn call);

/// Called before the program's MPI_Init or MPI_Session_init: a dormant process is measured from here on.
void prepare_for_mpi();
/// Whether the common measurement of all processes has yet to begin, and can begin.
bool may_begin_mpi();
/// Begin the common measurement when MPI begins, and end it when MPI ends. `world` is the communicator of all
/// processes. False: it has begun already.
bool begin_mpi(MPI_Comm world);
void end_mpi();

}  // namespace refrain::adapters::mpi

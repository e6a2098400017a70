#pragma once
/// Begin and end of MPI, and MPI_Pcontrol. The generated wrappers of the functions whose effect is Written come here,
/// and those of the Fortran functions (calls/fortran_symbols.cpp).
///
/// Thread safety: any thread. Not for handlers.

#include "adapters/mpi/mpi_header.hpp"
#include "measurement/location.hpp"
#include "platform/function_ref.hpp"

namespace refrain::adapters::mpi {

/// Makes the program's call and returns its result.
using PassOn = platform::FunctionRef<int()>;

/// The program calls a function that begins or ends MPI. `caller`: registers where it did.
int call_lifecycle(measurement::RegionId region, const platform::Registers& caller, PassOn call);
/// It calls MPI_Pcontrol.
int call_control(int level, const platform::Registers& caller, PassOn call);

/// Before the program's MPI_Init or MPI_Session_init: a process that was not measured so far is from here on.
void prepare_for_mpi();
/// Whether the measurement of all processes together has yet to begin, and can.
bool may_begin_mpi();
/// What is done at the beginning and the end of MPI, `world` being the communicator of all processes. False: it has
/// begun already.
bool begin_mpi(MPI_Comm world);
void end_mpi();

}  // namespace refrain::adapters::mpi

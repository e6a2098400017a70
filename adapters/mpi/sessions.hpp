#pragma once
/// Programs that use sessions (MPI-4, section 11.3) and never call MPI_Init. They have no communicator of all processes
/// until they make one, of "mpi://WORLD": from there on they are measured as others are from MPI_Init on, until the
/// last session ends. Before, and in programs that never make one, each process is measured by itself.

#include "adapters/mpi/mpi_header.hpp"

namespace refrain::adapters::mpi {

/// A communicator was made of a group of a session: true when the measurement begins with it.
bool begin_with_session(MPI_Comm made);

/// Before the program's MPI_Init or MPI_Session_init: a process that was not measured so far is from here on.
void prepare_for_mpi();
/// Whether the measurement of all processes together has yet to begin, and can.
bool may_begin_mpi();
/// What lifecycle.cpp does at the beginning and the end of MPI, `world` being the communicator of all processes. False:
/// it has begun already.
bool begin_mpi(MPI_Comm world);
void end_mpi();

}  // namespace refrain::adapters::mpi

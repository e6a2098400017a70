#pragma once
/// Programs that use sessions (MPI-4, section 11.3) and never call MPI_Init. They have no communicator of all processes
/// until they make one from "mpi://WORLD". From then on they are measured as others are from MPI_Init on, until the
/// last session ends. Before that, and in programs that never make one, each process is measured by itself.

#include "adapters/mpi/mpi_header.hpp"

namespace refrain::adapters::mpi {

/// A communicator was made from a group of a session. True: the measurement begins with it.
bool begin_with_session(MPI_Comm made);
/// The program has opened a session.
void note_session();
/// The program has closed a session.
void note_session_end();
/// The program is about to close a session. True: it is the last one, and the measurement began with a session and ends
/// now.
bool ends_with_session();

}  // namespace refrain::adapters::mpi

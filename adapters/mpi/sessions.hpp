#pragma once
/// Programs that use sessions (MPI-4, section 11.3) and never call MPI_Init. They have no communicator of all processes
/// until they make one, of "mpi://WORLD": from there on they are measured as others are from MPI_Init on, until the
/// last session ends. Before, and in programs that never make one, each process is measured by itself.

#include "adapters/mpi/mpi_header.hpp"

namespace refrain::adapters::mpi {

/// A communicator was made of a group of a session: true when the measurement begins with it.
bool begin_with_session(MPI_Comm made);
/// The program has opened a session.
void note_session();
/// It has closed one.
void note_session_end();
/// It is about to close the last session, and the measurement has begun with one: it ends now.
bool ends_with_session();

}  // namespace refrain::adapters::mpi

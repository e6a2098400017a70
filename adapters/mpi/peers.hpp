#pragma once
/// Messages between the ranks' runtimes on a communicator of their own (measurement/peers.hpp).

#include "adapters/mpi/library.hpp"
#include "measurement/peers.hpp"

namespace refrain::adapters::mpi {

/// Duplicates the communicator of all processes: collective, to be called inside MPI_Init or where that was made.
/// False: there will be no peers, as when there is one process. `on_late` is called once when other ranks keep this one
/// waiting; ranks that do not run Refrain do so for ever, and nothing that could have been begun without them can be
/// undone.
bool open_peers(MPI_Comm world, void (*on_late)(int rank));
/// Collective as MPI_Finalize is. After an exchange that failed nothing is freed: MPI may still hold parts of it.
void close_peers();

/// Size 1 and null functions without an open communicator.
measurement::Peers peers();

}  // namespace refrain::adapters::mpi

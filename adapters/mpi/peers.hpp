#pragma once
/// Messages between the ranks' runtimes on a communicator of their own (measurement/peers.hpp).

#include "adapters/mpi/library.hpp"
#include "measurement/peers.hpp"

namespace refrain::adapters::mpi {

/// Duplicates the communicator of all processes. Collective; called inside MPI_Init, or where that communicator was
/// made. False: there are no peers, as with a single process. `on_late` is called once if others keep this rank
/// waiting. Ranks that do not run Refrain do so forever, and a duplication that has begun cannot be undone without
/// them.
bool open_peers(MPI_Comm world, void (*on_late)(int rank));
/// Collective like MPI_Finalize. After a failed exchange nothing is freed, because MPI may still hold parts of it.
void close_peers();

/// Without an open communicator: size 1 and null functions.
measurement::Peers peers();

}  // namespace refrain::adapters::mpi

#pragma once
/// Messages between the ranks' runtimes on a communicator of their own (measurement/peers.hpp).

#include "adapters/mpi/library.hpp"
#include "measurement/peers.hpp"

namespace refrain::adapters::mpi {

/// Duplicates MPI_COMM_WORLD: collective, to be called inside MPI_Init. False: there will be no peers.
bool open_peers();
/// Collective as MPI_Finalize is. After an exchange that failed nothing is freed: MPI may still hold parts of it.
void close_peers();

/// Size 1 and null functions when `open_peers` failed.
measurement::Peers peers();

}  // namespace refrain::adapters::mpi

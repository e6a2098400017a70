#pragma once
/// The other ranks of the job: messages with a deadline, on a communicator of Refrain's own. Implemented by
/// adapters/mpi; a job of one process has size 1 and null functions.
///
/// Used only inside the MPI_Init and MPI_Finalize wrappers, by one thread.

#include <cstdint>

#include "platform/pages.hpp"

namespace refrain::measurement {

struct Peers {
  int rank = 0;
  int size = 1;
  void* state = nullptr;
  /// Sends `data` to `peer`; returns when `data` may be reused. False: the deadline passed or MPI failed; memory that
  /// MPI may still read or write is then taken out of `data` and never freed.
  bool (*send)(void* state, int peer, platform::Bytes& data, std::int64_t deadline_monotonic_ns) = nullptr;
  /// Receives one message of any size from `peer`, appended to `out`. False as above.
  bool (*receive)(void* state, int peer, platform::Bytes& out, std::int64_t deadline_monotonic_ns) = nullptr;
};

}  // namespace refrain::measurement

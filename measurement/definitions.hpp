#pragma once
/// Things that call paths and events refer to, defined once per process.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "measurement/metrics.hpp"

namespace refrain::measurement {

/// Keeps as much of `name` as fits. The rest is zero bytes.
template <std::size_t room>
void set_name(char (&kept)[room], const char* name) {
  std::memset(kept, 0, room);
  for (std::size_t i = 0; i + 1 < room && name[i]; ++i) kept[i] = name[i];
}

/// A communicator, identified without communication by parent, ordinal and leader
/// (adapters/mpi/identities/communicators.hpp).
struct CommunicatorRecord {
  std::int32_t id;       ///< order of definition in this process; 0 is MPI_COMM_WORLD, 1 MPI_COMM_SELF
  std::int32_t parent;   ///< id, or -1
  std::int32_t ordinal;  ///< number of earlier operations that made communicators of the parent; negative: a hash
  std::int32_t leader;   ///< world rank of the member with rank 0, -1 when it is outside MPI_COMM_WORLD; the lower one
                         ///< of both groups of an intercommunicator
  std::int32_t rank;     ///< own rank in it
  std::int32_t size;
  std::int32_t remote_size;  ///< of an intercommunicator, else 0
  char name[64];
  std::span<const std::int32_t> members;  ///< world ranks in rank order, then those of the remote
                                          ///< group; -1 for a process outside MPI_COMM_WORLD
  std::int64_t made = 1;                  ///< number of successive communicators that this record stands for
  std::uint64_t identity = 0;             ///< hash of parent, ordinal and leader: the same on all members; never 0
  bool has_all = false;                   ///< its group is that of MPI_COMM_WORLD
};

/// A window for one-sided operations among the processes of a communicator.
struct WindowRecord {
  std::int32_t communicator;  ///< id, or -1
  WindowKind kind;
  char name[64];
  std::int64_t made = 1;  ///< number of successive windows that this record stands for
};

}  // namespace refrain::measurement

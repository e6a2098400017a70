#pragma once
/// Effects of collective operations; conventions in effects.hpp.
///
/// The standard defines the result of a collective operation, not its messages. Refrain counts the data flow of the
/// definition, as Score-P does: one piece for every pair (source, destination) whose data the destination needs,
/// a rank's piece for itself included, unless MPI_IN_PLACE says that it does not move. No message is counted, and what
/// an implementation really sends (trees, rings) may be less or more. b: bytes of the own piece, n: number of ranks
/// (of the remote group in an intercommunicator), r: own rank. In place: one piece less on either side.
///
///     shape            operations                  sent                              received
///     broadcast        Bcast                       root n b                          b
///     scatter          Scatter(v)                  root sum of all pieces            b
///     gather           Gather(v), Reduce           b                                 root sum of all pieces
///     allgather        Allgather(v), Allreduce     n b                               sum of all pieces
///     alltoall         Alltoall(v, w)              sum of own pieces                 sum of all pieces for this rank
///     reduce_scatter   Reduce_scatter(_block)      b, all parts                      n times the own part
///     scan             Scan                        (n - r) b                         (r + 1) b
///                      Exscan: always in place     (n - r - 1) b                     r b
///     neighbor         Neighbor_...                the piece for every destination   the piece of every source;
///                                                                                    MPI_PROC_NULL moves nothing
///     nothing          Barrier                     0                                 0

#include <cstdint>

#include "adapters/mpi/datatypes.hpp"
#include "adapters/mpi/identities/telling.hpp"
#include "adapters/mpi/requests/tracking.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::adapters::mpi {

enum class Shape : std::uint8_t {
  Nothing,
  Broadcast,
  Gather,
  Scatter,
  Allgather,
  Alltoall,
  ReduceScatter,
  Scan,
  Neighbor
};

/// The pieces that a rank gives, or gets, by number of the other rank or neighbour: all alike, or told by arrays. They
/// are looked at only where the arguments mean something.
class Pieces {
 public:
  Pieces() = default;
  Pieces(std::int64_t count, MPI_Datatype type) : count_(count), type_(type) {}
  Pieces(const int* counts, MPI_Datatype type) : small_(counts), type_(type) {}
  Pieces(const MPI_Count* counts, MPI_Datatype type) : large_(counts), type_(type) {}
  Pieces(const int* counts, const MPI_Datatype* types) : small_(counts), types_(types) {}
  Pieces(const MPI_Count* counts, const MPI_Datatype* types) : large_(counts), types_(types) {}
  /// Bytes of one, and of the first `n`.
  std::int64_t of(int i) const { return bytes_of(count(i), types_ ? types_[i] : type_); }
  std::int64_t sum(int n) const;

 private:
  std::int64_t count(int i) const { return small_ ? small_[i] : large_ ? large_[i] : count_; }

  std::int64_t count_ = 0;
  const int* small_ = nullptr;
  const MPI_Count* large_ = nullptr;
  MPI_Datatype type_{};
  const MPI_Datatype* types_ = nullptr;
};

/// A collective operation as the program has called it.
struct Operation {
  Shape shape;
  bool in_place;
  Pieces gives, gets;
  int root;  ///< without_root
  MPI_Comm comm;
};
inline bool in_place(const void* buffer) { return buffer == MPI_IN_PLACE; }

/// A collective operation, blocking or not: counted by the call that begins it.
struct Counted {
  Operation operation;
  void before() {}
  void after(measurement::MpiCall& call, int result);
  void begun(measurement::MpiCall& call, TrackedRequest& request);
};

/// A persistent collective operation: counted whenever it is started.
struct Prepared {
  Operation operation;
  const MPI_Request* request;
  void before() {}
  void after(measurement::MpiCall& call, int result);
};

}  // namespace refrain::adapters::mpi

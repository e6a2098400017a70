#pragma once
/// Bytes that a rank sends and receives in a collective operation.
///
/// The standard defines the result of a collective operation, not its messages. Refrain counts the data flow of the
/// definition, as Score-P does: one piece for every pair (source, destination) whose data the destination needs. That
/// includes a rank's piece for itself, unless MPI_IN_PLACE says that it does not move. No messages are counted, and an
/// implementation (trees, rings) may really send less or more. b: bytes of the own piece, n: number of ranks (of the
/// remote group in an intercommunicator), r: own rank. In place: one piece less on either side.
///
///     shape          operations                sent                              received
///     Nothing        Barrier                   0                                 0
///     FromRoot       Bcast, Scatter(v)         root sum of all pieces            b
///     ToRoot         Gather(v), Reduce         b                                 root sum of all pieces
///     ToAll          Allgather(v), Allreduce   n b                               sum of all pieces
///     Exchange       Alltoall(v, w)            sum of own pieces                 sum of all pieces for this rank
///     ReduceScatter  Reduce_scatter(_block)    b, all parts                      n times the own part
///     Scan           Scan                      (n - r) b                         (r + 1) b
///                    Exscan                    (n - r - 1) b                     r b
///     Neighbors      Neighbor_...              the piece for every destination   the piece of every source;
///                                                                                MPI_PROC_NULL moves nothing

#include <cstdint>

#include "adapters/mpi/calls/datatypes.hpp"

namespace refrain::adapters::mpi {

/// The ranks that take part, as the calling rank sees them.
struct Participants {
  int size = 0;   ///< ranks to exchange data with: in an intercommunicator the remote group
  int local = 0;  ///< ranks on this side
  int rank = 0;
  bool inter = false;
  bool is_root(int root) const { return inter ? root == MPI_ROOT : root == rank; }
  /// In an intercommunicator the other ranks on the root's side take no part.
  bool is_idle(int root) const { return inter && root == MPI_PROC_NULL; }
};

inline bool in_place(const void* buffer) { return buffer == MPI_IN_PLACE; }

/// The pieces of a buffer, one for each rank, as the program passed them: all of one count, each with a count, or each
/// with a count and a type. Like MPI, this looks at the arguments only where they are significant.
class Pieces {
 public:
  Pieces() = default;
  Pieces(std::int64_t count, MPI_Datatype type) : count_(count), type_(type) {}
  Pieces(const int* counts, MPI_Datatype type) : counts_(counts), type_(type) {}
  Pieces(const MPI_Count* counts, MPI_Datatype type) : large_counts_(counts), type_(type) {}
  Pieces(const int* counts, const MPI_Datatype* types) : counts_(counts), types_(types) {}
  Pieces(const MPI_Count* counts, const MPI_Datatype* types) : large_counts_(counts), types_(types) {}

  /// Bytes of the piece of rank `i`.
  std::int64_t operator[](int i) const { return bytes_of(count(i), types_ ? types_[i] : type_); }
  /// Bytes of the first `n` pieces.
  std::int64_t sum(int n) const;

 private:
  std::int64_t count(int i) const { return counts_ ? counts_[i] : large_counts_ ? large_counts_[i] : count_; }

  std::int64_t count_ = 0;
  const int* counts_ = nullptr;
  const MPI_Count* large_counts_ = nullptr;
  MPI_Datatype type_{};
  const MPI_Datatype* types_ = nullptr;
};

enum class Shape : std::uint8_t { Nothing, FromRoot, ToRoot, ToAll, Exchange, ReduceScatter, Scan, Neighbors };

inline constexpr int without_root = MPI_PROC_NULL;

/// A collective operation, as a row of functions.table and the arguments of the call describe it.
struct Collective {
  Shape shape;
  bool own_stays;  ///< the rank's piece for itself does not move
  Pieces sent, received;
  int root;  ///< as the program passed it, or `without_root`
  MPI_Comm comm;

  Participants participants() const;
  Traffic traffic(const Participants& participants) const;
};

}  // namespace refrain::adapters::mpi

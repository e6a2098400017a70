#pragma once
/// Bytes that a rank sends and receives in a collective operation.
///
/// The standard defines the result of a collective operation, not its messages. Refrain counts the data flow of the
/// definition, as Score-P does: one piece for every pair (source, destination) whose data the destination needs,
/// a rank's piece for itself included, unless MPI_IN_PLACE says that it does not move. No message is counted, and what
/// an implementation really sends (trees, rings) may be less or more. b: bytes of the own piece, n: number of ranks
/// (of the remote group in an intercommunicator), r: own rank. In place: one piece less on either side.
///
///     operation              sent                              received
///     Bcast                  root n b                          b
///     Scatter, Scatterv      root sum of all pieces            b
///     Gather, Gatherv        b                                 root sum of all pieces
///     Reduce                 b                                 root n b
///     Allgather(v)           n b                               sum of all pieces
///     Alltoall(v, w)         sum of own pieces                 sum of all pieces for this rank
///     Allreduce              n b                               n b
///     Reduce_scatter(_block) b, all parts                      n times the own part
///     Scan                   (n - r) b                         (r + 1) b
///     Exscan                 (n - r - 1) b                     r b
///     Barrier                0                                 0
///     Neighbor_...           the piece for every destination   the piece of every source; MPI_PROC_NULL moves nothing

#include <cstdint>

#include "adapters/mpi/datatypes.hpp"

namespace refrain::adapters::mpi {

struct Traffic {
  std::int64_t sent = 0, received = 0;
};

/// Who takes part, as the calling rank sees it.
struct Participants {
  int size = 0;   ///< ranks that data goes to and comes from: the remote group of an intercommunicator
  int local = 0;  ///< ranks on this side
  int rank = 0;
  bool inter = false;
  bool is_root(int root) const { return inter ? root == MPI_ROOT : root == rank; }
  /// In an intercommunicator the ranks beside the root take no part.
  bool idle(int root) const { return inter && root == MPI_PROC_NULL; }
};
inline Participants participants(MPI_Comm comm) {
  Participants p;
  int inter = 0;
  pmpi.Comm_test_inter(comm, &inter);
  p.inter = inter;
  pmpi.Comm_size(comm, &p.local);
  pmpi.Comm_rank(comm, &p.rank);
  p.size = p.local;
  if (p.inter) pmpi.Comm_remote_size(comm, &p.size);
  return p;
}

/// An array of counts, of int or of MPI_Count.
class Counts {
 public:
  Counts(const int* counts) : small_(counts) {}        // NOLINT: what the program passed
  Counts(const MPI_Count* counts) : large_(counts) {}  // NOLINT
  std::int64_t operator[](int i) const { return large_ ? large_[i] : small_[i]; }
  std::int64_t sum(int n) const {
    std::int64_t total = 0;
    for (int i = 0; i < n; ++i) total += (*this)[i];
    return total;
  }

 private:
  const int* small_ = nullptr;
  const MPI_Count* large_ = nullptr;
};

inline bool in_place(const void* buffer) { return buffer == MPI_IN_PLACE; }

struct Barrier {
  MPI_Comm comm;
  Traffic traffic() const { return {}; }
};

struct Bcast {
  std::int64_t count;
  MPI_Datatype datatype;
  int root;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    if (p.idle(root)) return {};
    const std::int64_t piece = bytes_of(count, datatype);
    if (!p.is_root(root)) return {0, piece};
    return {p.size * piece, p.inter ? 0 : piece};
  }
};

/// A gather: `piece` is what this rank gives, `all` what the root receives, `own` the root's piece in that; `stays`
/// says that the root's piece does not move. Functions, because a rank may look only at those arguments that mean
/// something there.
template <class Piece, class All, class Own>
Traffic to_root(const Participants& p, int root, bool stays, Piece piece, All all, Own own) {
  if (p.idle(root)) return {};
  if (!p.is_root(root)) return {piece(), 0};
  if (p.inter) return {0, all()};
  return stays ? Traffic{0, all() - own()} : Traffic{piece(), all()};
}
/// A scatter is a gather backwards.
inline Traffic backwards(const Traffic& t) { return {t.received, t.sent}; }

struct Gather {
  const void* sendbuf;
  std::int64_t sendcount;
  MPI_Datatype sendtype;
  const void* recvbuf;
  std::int64_t recvcount;
  MPI_Datatype recvtype;
  int root;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    const auto sent = [&] { return bytes_of(sendcount, sendtype); };
    const auto received = [&] { return bytes_of(recvcount, recvtype); };
    return to_root(
        p, root, in_place(sendbuf), sent, [&] { return p.size * received(); }, received);
  }
};

struct Gatherv {
  const void* sendbuf;
  std::int64_t sendcount;
  MPI_Datatype sendtype;
  const void* recvbuf;
  Counts recvcounts;
  MPI_Datatype recvtype;
  int root;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    return to_root(
        p, root, in_place(sendbuf), [&] { return bytes_of(sendcount, sendtype); },
        [&] { return bytes_of(recvcounts.sum(p.size), recvtype); },
        [&] { return bytes_of(recvcounts[p.rank], recvtype); });
  }
};

struct Scatter {
  const void* sendbuf;
  std::int64_t sendcount;
  MPI_Datatype sendtype;
  const void* recvbuf;
  std::int64_t recvcount;
  MPI_Datatype recvtype;
  int root;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    const auto sent = [&] { return bytes_of(sendcount, sendtype); };
    const auto received = [&] { return bytes_of(recvcount, recvtype); };
    return backwards(to_root(
        p, root, in_place(recvbuf), received, [&] { return p.size * sent(); }, sent));
  }
};

struct Scatterv {
  const void* sendbuf;
  Counts sendcounts;
  MPI_Datatype sendtype;
  const void* recvbuf;
  std::int64_t recvcount;
  MPI_Datatype recvtype;
  int root;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    return backwards(to_root(
        p, root, in_place(recvbuf), [&] { return bytes_of(recvcount, recvtype); },
        [&] { return bytes_of(sendcounts.sum(p.size), sendtype); },
        [&] { return bytes_of(sendcounts[p.rank], sendtype); }));
  }
};

struct Allgather {
  const void* sendbuf;
  std::int64_t sendcount;
  MPI_Datatype sendtype;
  std::int64_t recvcount;
  MPI_Datatype recvtype;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    const std::int64_t piece = bytes_of(recvcount, recvtype);
    if (in_place(sendbuf)) return {(p.size - 1) * piece, (p.size - 1) * piece};
    return {p.size * bytes_of(sendcount, sendtype), p.size * piece};
  }
};

struct Allgatherv {
  const void* sendbuf;
  std::int64_t sendcount;
  MPI_Datatype sendtype;
  Counts recvcounts;
  MPI_Datatype recvtype;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    const std::int64_t all = recvcounts.sum(p.size);
    if (in_place(sendbuf))
      return {(p.size - 1) * bytes_of(recvcounts[p.rank], recvtype), bytes_of(all - recvcounts[p.rank], recvtype)};
    return {p.size * bytes_of(sendcount, sendtype), bytes_of(all, recvtype)};
  }
};

struct Alltoall {
  const void* sendbuf;
  std::int64_t sendcount;
  MPI_Datatype sendtype;
  std::int64_t recvcount;
  MPI_Datatype recvtype;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    const std::int64_t piece = bytes_of(recvcount, recvtype);
    if (in_place(sendbuf)) return {(p.size - 1) * piece, (p.size - 1) * piece};
    return {p.size * bytes_of(sendcount, sendtype), p.size * piece};
  }
};

struct Alltoallv {
  const void* sendbuf;
  Counts sendcounts;
  MPI_Datatype sendtype;
  Counts recvcounts;
  MPI_Datatype recvtype;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    const std::int64_t all = recvcounts.sum(p.size);
    if (in_place(sendbuf)) {
      const std::int64_t others = bytes_of(all - recvcounts[p.rank], recvtype);
      return {others, others};
    }
    return {bytes_of(sendcounts.sum(p.size), sendtype), bytes_of(all, recvtype)};
  }
};

struct Alltoallw {
  const void* sendbuf;
  Counts sendcounts;
  const MPI_Datatype* sendtypes;
  Counts recvcounts;
  const MPI_Datatype* recvtypes;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    const bool own_stays = in_place(sendbuf);
    Traffic t;
    for (int i = 0; i < p.size; ++i) {
      if (own_stays && i == p.rank) continue;
      t.received += bytes_of(recvcounts[i], recvtypes[i]);
      if (!own_stays) t.sent += bytes_of(sendcounts[i], sendtypes[i]);
    }
    if (own_stays) t.sent = t.received;
    return t;
  }
};

struct Reduce {
  const void* sendbuf;
  const void* recvbuf;
  std::int64_t count;
  MPI_Datatype datatype;
  int root;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    if (p.idle(root)) return {};
    const std::int64_t piece = bytes_of(count, datatype);
    if (!p.is_root(root)) return {piece, 0};
    if (p.inter) return {0, p.size * piece};
    return in_place(sendbuf) ? Traffic{0, (p.size - 1) * piece} : Traffic{piece, p.size * piece};
  }
};

struct Allreduce {
  const void* sendbuf;
  std::int64_t count;
  MPI_Datatype datatype;
  MPI_Comm comm;
  Traffic traffic() const {
    const std::int64_t all = (participants(comm).size - in_place(sendbuf)) * bytes_of(count, datatype);
    return {all, all};
  }
};

struct ReduceScatter {
  const void* sendbuf;
  Counts recvcounts;
  MPI_Datatype datatype;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    const std::int64_t own = bytes_of(recvcounts[p.rank], datatype), all = bytes_of(recvcounts.sum(p.local), datatype);
    return in_place(sendbuf) ? Traffic{all - own, (p.size - 1) * own} : Traffic{all, p.size * own};
  }
};

struct ReduceScatterBlock {
  const void* sendbuf;
  std::int64_t recvcount;
  MPI_Datatype datatype;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    const std::int64_t own = bytes_of(recvcount, datatype);
    return {(p.local - in_place(sendbuf)) * own, (p.size - in_place(sendbuf)) * own};
  }
};

struct Scan {
  const void* sendbuf;
  std::int64_t count;
  MPI_Datatype datatype;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    const std::int64_t piece = bytes_of(count, datatype);
    const int own = !in_place(sendbuf);
    return {(p.size - p.rank - 1 + own) * piece, (p.rank + own) * piece};
  }
};

struct Exscan {
  const void* sendbuf;
  std::int64_t count;
  MPI_Datatype datatype;
  MPI_Comm comm;
  Traffic traffic() const {
    const Participants p = participants(comm);
    const std::int64_t piece = bytes_of(count, datatype);
    return {(p.size - p.rank - 1) * piece, p.rank * piece};
  }
};

/// The neighbours of the calling rank in its process topology.
class Neighbors {
 public:
  explicit Neighbors(MPI_Comm comm);
  int sources() const { return sources_; }
  int destinations() const { return destinations_; }
  /// False: the i-th neighbour is MPI_PROC_NULL, beyond the border of a Cartesian grid. Both directions have the same.
  bool exists(int i) const;
  int existing(int n) const;

 private:
  MPI_Comm comm_;
  int sources_ = 0, destinations_ = 0;
  bool grid_ = false;
};

struct NeighborAllgather {
  std::int64_t sendcount;
  MPI_Datatype sendtype;
  std::int64_t recvcount;
  MPI_Datatype recvtype;
  MPI_Comm comm;
  Traffic traffic() const {
    const Neighbors n(comm);
    const std::int64_t to = n.existing(n.destinations()), from = n.existing(n.sources());
    return {to ? to * bytes_of(sendcount, sendtype) : 0, from ? from * bytes_of(recvcount, recvtype) : 0};
  }
};
struct NeighborAlltoall : NeighborAllgather {};

struct NeighborAllgatherv {
  std::int64_t sendcount;
  MPI_Datatype sendtype;
  Counts recvcounts;
  MPI_Datatype recvtype;
  MPI_Comm comm;
  Traffic traffic() const {
    const Neighbors n(comm);
    const std::int64_t to = n.existing(n.destinations());
    Traffic t{to ? to * bytes_of(sendcount, sendtype) : 0, 0};
    for (int i = 0; i < n.sources(); ++i)
      if (n.exists(i)) t.received += bytes_of(recvcounts[i], recvtype);
    return t;
  }
};

struct NeighborAlltoallv {
  Counts sendcounts;
  MPI_Datatype sendtype;
  Counts recvcounts;
  MPI_Datatype recvtype;
  MPI_Comm comm;
  Traffic traffic() const {
    const Neighbors n(comm);
    Traffic t;
    for (int i = 0; i < n.destinations(); ++i)
      if (n.exists(i)) t.sent += bytes_of(sendcounts[i], sendtype);
    for (int i = 0; i < n.sources(); ++i)
      if (n.exists(i)) t.received += bytes_of(recvcounts[i], recvtype);
    return t;
  }
};

struct NeighborAlltoallw {
  Counts sendcounts;
  const MPI_Datatype* sendtypes;
  Counts recvcounts;
  const MPI_Datatype* recvtypes;
  MPI_Comm comm;
  Traffic traffic() const {
    const Neighbors n(comm);
    Traffic t;
    for (int i = 0; i < n.destinations(); ++i)
      if (n.exists(i)) t.sent += bytes_of(sendcounts[i], sendtypes[i]);
    for (int i = 0; i < n.sources(); ++i)
      if (n.exists(i)) t.received += bytes_of(recvcounts[i], recvtypes[i]);
    return t;
  }
};

}  // namespace refrain::adapters::mpi

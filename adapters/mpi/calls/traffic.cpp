#include "adapters/mpi/calls/traffic.hpp"

#include "platform/hot.hpp"

namespace refrain::adapters::mpi {

std::int64_t Pieces::sum(int n) const {
  std::int64_t total = 0;
  if (types_) {
    for (int i = 0; i < n; ++i) total += (*this)[i];
    return total;
  }
  if (!counts_ && !large_counts_) return n * bytes_of(count_, type_);
  for (int i = 0; i < n; ++i) total += count(i);
  return bytes_of(total, type_);
}

namespace {

/// A gather: `piece` is what this rank contributes, `all` what the root receives.
Traffic to_root(const Participants& p, const Collective& of, const Pieces& piece, const Pieces& all) {
  if (p.is_idle(of.root)) return {};
  if (!p.is_root(of.root)) return {piece[p.rank], 0};
  if (p.inter) return {0, all.sum(p.size)};
  return of.own_stays ? Traffic{0, all.sum(p.size) - all[p.rank]} : Traffic{piece[p.rank], all.sum(p.size)};
}

Traffic to_all(const Participants& p, const Collective& of) {
  if (!of.own_stays) return {p.size * of.sent[p.rank], of.received.sum(p.size)};
  const std::int64_t own = of.received[p.rank];  // the data to send is in the receive buffer
  return {(p.size - 1) * own, of.received.sum(p.size) - own};
}

Traffic exchange(const Participants& p, const Collective& of) {
  if (!of.own_stays) return {of.sent.sum(p.size), of.received.sum(p.size)};
  const std::int64_t others = of.received.sum(p.size) - of.received[p.rank];
  return {others, others};
}

Traffic reduce_scatter(const Participants& p, const Collective& of) {
  const std::int64_t own = of.received[p.rank];
  return {of.received.sum(p.local) - of.own_stays * own, (p.size - of.own_stays) * own};
}

Traffic scan(const Participants& p, const Collective& of) {
  const std::int64_t piece = of.sent[p.rank];
  const int own = !of.own_stays;
  return {(p.size - p.rank - 1 + own) * piece, (p.rank + own) * piece};
}

/// The neighbours of the calling rank in its process topology.
class Neighbors {
 public:
  explicit Neighbors(MPI_Comm comm) : comm_(comm) {
    int topology = MPI_UNDEFINED, weighted = 0, dimensions = 0, rank = 0;
    pmpi.Topo_test(comm, &topology);
    switch (topology) {
      case MPI_CART:
        is_grid_ = true;
        if (pmpi.Cartdim_get(comm, &dimensions) == MPI_SUCCESS) sources = destinations = 2 * dimensions;
        break;
      case MPI_GRAPH:
        pmpi.Comm_rank(comm, &rank);
        pmpi.Graph_neighbors_count(comm, rank, &sources);
        destinations = sources;
        break;
      case MPI_DIST_GRAPH: pmpi.Dist_graph_neighbors_count(comm, &sources, &destinations, &weighted); break;
      default: break;
    }
  }
  /// Bytes of the pieces of `n` neighbours. A neighbour beyond the border of a Cartesian grid is MPI_PROC_NULL.
  std::int64_t sum(const Pieces& pieces, int n) const {
    std::int64_t total = 0;
    for (int i = 0; i < n; ++i)
      if (exists(i)) total += pieces[i];
    return total;
  }
  int sources = 0, destinations = 0;

 private:
  bool exists(int i) const {
    if (!is_grid_) return true;
    int lower = MPI_PROC_NULL, upper = MPI_PROC_NULL;  // neighbours are ordered by dimension, the lower one first
    pmpi.Cart_shift(comm_, i / 2, 1, &lower, &upper);
    return (i % 2 ? upper : lower) != MPI_PROC_NULL;
  }
  MPI_Comm comm_;
  bool is_grid_ = false;
};

Traffic among_neighbors(const Collective& of) {
  const Neighbors neighbors(of.comm);
  return {neighbors.sum(of.sent, neighbors.destinations), neighbors.sum(of.received, neighbors.sources)};
}

}  // namespace

REFRAIN_HOT_CODE_OF_MANY Participants Collective::participants() const {
  Participants p;
  pmpi.Comm_size(comm, &p.local);
  if (shape == Shape::Nothing) return p;
  int inter = 0;
  pmpi.Comm_test_inter(comm, &inter);
  pmpi.Comm_rank(comm, &p.rank);
  p.inter = inter;
  p.size = p.local;
  if (p.inter) pmpi.Comm_remote_size(comm, &p.size);
  return p;
}

REFRAIN_HOT_CODE_OF_MANY Traffic Collective::traffic(const Participants& p) const {
  switch (shape) {
    case Shape::Nothing: break;
    case Shape::FromRoot: {
      const Traffic backwards = to_root(p, *this, received, sent);
      return {backwards.received, backwards.sent};
    }
    case Shape::ToRoot: return to_root(p, *this, sent, received);
    case Shape::ToAll: return to_all(p, *this);
    case Shape::Exchange: return exchange(p, *this);
    case Shape::ReduceScatter: return reduce_scatter(p, *this);
    case Shape::Scan: return scan(p, *this);
    case Shape::Neighbors: return among_neighbors(*this);
  }
  return {};
}

}  // namespace refrain::adapters::mpi

#include "adapters/mpi/calls/effects_collective.hpp"

#include "measurement/call_durations.hpp"
#include "platform/hot.hpp"

namespace refrain::adapters::mpi {

using measurement::MpiCall;

std::int64_t Pieces::sum(int n) const {
  if (!small_ && !large_) return n * of(0);
  std::int64_t counts = 0, bytes = 0;
  for (int i = 0; i < n; ++i)
    if (types_) bytes += of(i);
    else counts += count(i);
  return types_ ? bytes : bytes_of(counts, type_);
}

namespace {

/// The ranks that take part, as the calling rank sees them.
struct Participants {
  int size = 0;   ///< ranks that data goes to and comes from: the remote group of an intercommunicator
  int local = 0;  ///< ranks on this side
  int rank = 0;   ///< unless all ranks are alike in the operation
  bool inter = false;
  explicit Participants(const Operation& o) {
    pmpi.Comm_size(o.comm, &local);
    if (o.shape == Shape::Nothing || o.shape == Shape::Neighbor) return;
    int is_inter = 0;
    pmpi.Comm_test_inter(o.comm, &is_inter);
    inter = is_inter;
    const bool is_alike = (o.shape == Shape::Allgather || o.shape == Shape::Alltoall) && !o.in_place;
    if (!is_alike) pmpi.Comm_rank(o.comm, &rank);
    size = local;
    if (inter) pmpi.Comm_remote_size(o.comm, &size);
  }
  bool is_root(int root) const { return inter ? root == MPI_ROOT : root == rank; }
  /// In an intercommunicator the ranks beside the root take no part.
  bool is_idle(int root) const { return inter && root == MPI_PROC_NULL; }
};

Traffic of_broadcast(const Operation& o, const Participants& p) {
  if (p.is_idle(o.root)) return {};
  const std::int64_t piece = o.gives.of(0);
  if (!p.is_root(o.root)) return {0, piece};
  return {p.size * piece, p.inter ? 0 : piece};
}

/// `piece`: what a rank that is not the root gives; `all`: what the root gets. The root's own piece in that stays in
/// place. Of a scatter both are meant backwards.
Traffic of_gather(const Operation& o, const Participants& p, const Pieces& piece, const Pieces& all) {
  if (p.is_idle(o.root)) return {};
  if (!p.is_root(o.root)) return {piece.of(p.rank), 0};
  if (p.inter) return {0, all.sum(p.size)};
  return o.in_place ? Traffic{0, all.sum(p.size) - all.of(p.rank)} : Traffic{piece.of(p.rank), all.sum(p.size)};
}
Traffic backwards(const Traffic& t) { return {t.received, t.sent}; }

Traffic of_allgather(const Operation& o, const Participants& p) {
  const std::int64_t all = o.gets.sum(p.size);
  if (!o.in_place) return {p.size * o.gives.of(0), all};
  const std::int64_t own = o.gets.of(p.rank);
  return {(p.size - 1) * own, all - own};
}

Traffic of_alltoall(const Operation& o, const Participants& p) {
  const std::int64_t all = o.gets.sum(p.size);
  if (!o.in_place) return {o.gives.sum(p.size), all};
  const std::int64_t others = all - o.gets.of(p.rank);
  return {others, others};
}

Traffic of_reduce_scatter(const Operation& o, const Participants& p) {
  const std::int64_t own = o.gets.of(p.rank), all = o.gets.sum(p.local);
  return o.in_place ? Traffic{all - own, (p.size - 1) * own} : Traffic{all, p.size * own};
}

Traffic of_scan(const Operation& o, const Participants& p) {
  const std::int64_t piece = o.gives.of(p.rank);
  const int own = !o.in_place;
  return {(p.size - p.rank - 1 + own) * piece, (p.rank + own) * piece};
}

/// The neighbours of the calling rank in its process topology.
class Neighbors {
 public:
  explicit Neighbors(MPI_Comm comm);
  Traffic traffic(const Operation& o) const {
    Traffic t;
    for (int i = 0; i < destinations_; ++i)
      if (exists(i)) t.sent += o.gives.of(i);
    for (int i = 0; i < sources_; ++i)
      if (exists(i)) t.received += o.gets.of(i);
    return t;
  }

 private:
  /// False: the i-th neighbour is MPI_PROC_NULL, beyond the border of a Cartesian grid. Both directions have the same.
  bool exists(int i) const;

  MPI_Comm comm_;
  int sources_ = 0, destinations_ = 0;
  bool grid_ = false;
};

Neighbors::Neighbors(MPI_Comm comm) : comm_(comm) {
  int topology = MPI_UNDEFINED, weighted = 0, dimensions = 0, rank = 0;
  pmpi.Topo_test(comm, &topology);
  switch (topology) {
    case MPI_CART:
      grid_ = true;
      if (pmpi.Cartdim_get(comm, &dimensions) == MPI_SUCCESS) sources_ = destinations_ = 2 * dimensions;
      break;
    case MPI_GRAPH:
      pmpi.Comm_rank(comm, &rank);
      pmpi.Graph_neighbors_count(comm, rank, &sources_);
      destinations_ = sources_;
      break;
    case MPI_DIST_GRAPH: pmpi.Dist_graph_neighbors_count(comm, &sources_, &destinations_, &weighted); break;
    default: break;
  }
}

bool Neighbors::exists(int i) const {
  if (!grid_) return true;
  int lower = MPI_PROC_NULL, upper = MPI_PROC_NULL;  // ordered by dimension, the lower one first
  pmpi.Cart_shift(comm_, i / 2, 1, &lower, &upper);
  return (i % 2 ? upper : lower) != MPI_PROC_NULL;
}

Traffic traffic_of(const Operation& o, const Participants& p) {
  switch (o.shape) {
    case Shape::Nothing: return {};
    case Shape::Broadcast: return of_broadcast(o, p);
    case Shape::Gather: return of_gather(o, p, o.gives, o.gets);
    case Shape::Scatter: return backwards(of_gather(o, p, o.gets, o.gives));
    case Shape::Allgather: return of_allgather(o, p);
    case Shape::Alltoall: return of_alltoall(o, p);
    case Shape::ReduceScatter: return of_reduce_scatter(o, p);
    case Shape::Scan: return of_scan(o, p);
    case Shape::Neighbor: break;
  }
  return Neighbors(o.comm).traffic(o);
}

/// Keeps with the request of a collective operation what is told of it when it is begun and when it completes.
void set_operation(TrackedRequest& request, const Operation& o, const Traffic& traffic) {
  request.peer = o.root;
  request.communicator = handle_bits(o.comm);
  request.bytes_sent = traffic.sent;
  request.bytes_received = traffic.received;
}

}  // namespace

REFRAIN_HOT_CODE_OF_MANY void Counted::after(MpiCall& call, int result) {
  if (result != MPI_SUCCESS) return fail_collective(operation.comm);
  const Participants participants(operation);
  const Traffic traffic = traffic_of(operation, participants);
  call.moved(traffic);
  call.among(participants.local);
  if (call.is_listened_to()) tell_collective(call, operation.comm, operation.root, traffic);
}

void Counted::begun(MpiCall& call, TrackedRequest& request) {
  const Traffic traffic = traffic_of(operation, Participants(operation));
  call.moved(traffic);
  set_operation(request, operation, traffic);
  tell_begun_if_wanted(call, &request);
}

void Prepared::after(MpiCall& call, int result) {
  if (result != MPI_SUCCESS) return;
  if (TrackedRequest* tracked = track_persistent(call, *request, events::Kind::Collective))
    set_operation(*tracked, operation, traffic_of(operation, Participants(operation)));
}

}  // namespace refrain::adapters::mpi

#include "adapters/mpi/traffic.hpp"

namespace refrain::adapters::mpi {

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

int Neighbors::existing(int n) const {
  int found = 0;
  for (int i = 0; i < n; ++i) found += exists(i);
  return found;
}

}  // namespace refrain::adapters::mpi

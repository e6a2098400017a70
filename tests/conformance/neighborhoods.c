/* Collective operations of neighbours: in grids with ends and without, in graphs, in distributed graphs; blocking,
 * non-blocking and persistent. */
#include "conformance.h"

/* How many neighbours a rank sends to and receives from, and which of them exist. */
enum { most = 8 };
static int destinations, sources;
static int to_exists[most], from_exists[most];

PATH static void exchange(MPI_Comm comm, count_t c) {
  FUNCTION;
  count_t counts[most], send_counts[most], receive_counts[most];
  displacement_t offsets[most];
  neighbor_displacement_t bytes[most];
  MPI_Datatype types[most];
  long long to = 0, from = 0, to_sum = 0, from_sum = 0;
  for (int i = 0; i < most; ++i) {
    counts[i] = c;
    /* The same in both directions: the i-th of the one is the (i ^ 1)-th of the other in a grid. */
    send_counts[i] = receive_counts[i] = c + 2;
    offsets[i] = 2000 * i;
    bytes[i] = 2000 * i * I;
    types[i] = MPI_INT;
    if (i < destinations && to_exists[i]) ++to, to_sum += send_counts[i];
    if (i < sources && from_exists[i]) ++from, from_sum += receive_counts[i];
  }
  memset(in, 0, sizeof in);
  FORMS(Neighbor_allgather, Ineighbor_allgather, (out, c, MPI_INT, in, c, MPI_INT, comm), sent(0, to * c * I),
        received(0, from * c * I));
  show("gathered", in, sizeof in);
  memset(in, 0, sizeof in);
  FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, (out, c, MPI_INT, in, counts, offsets, MPI_INT, comm),
        sent(0, to * c * I), received(0, from * c * I));
  show("pieces gathered", in, sizeof in);
  memset(in, 0, sizeof in);
  FORMS(Neighbor_alltoall, Ineighbor_alltoall, (out, c, MPI_INT, in, c, MPI_INT, comm), sent(0, to * c * I),
        received(0, from * c * I));
  show("exchanged", in, sizeof in);
  memset(in, 0, sizeof in);
  FORMS(Neighbor_alltoallv, Ineighbor_alltoallv,
        (out, send_counts, offsets, MPI_INT, in, receive_counts, offsets, MPI_INT, comm), sent(0, to_sum * I),
        received(0, from_sum * I));
  show("pieces exchanged", in, sizeof in);
  memset(in, 0, sizeof in);
  FORMS(Neighbor_alltoallw, Ineighbor_alltoallw,
        (out, send_counts, bytes, types, in, receive_counts, bytes, types, comm), sent(0, to_sum * I),
        received(0, from_sum * I));
  show("pieces of types", in, sizeof in);
}

PATH static void few(MPI_Comm comm) {
  FUNCTION;
  exchange(comm, 2);
}
PATH static void many(MPI_Comm comm) {
  FUNCTION;
  exchange(comm, 150);
}

/* A line of all ranks: the first and the last one have one neighbour. */
PATH static void line(void) {
  FUNCTION;
  MPI_Comm comm;
  int dims = size, periodic = 0;
  CALL(MPI_Cart_create, (world, 1, &dims, &periodic, 0, &comm));
  destinations = sources = 2;
  to_exists[0] = from_exists[0] = rank > 0;
  to_exists[1] = from_exists[1] = rank < size - 1;
  few(comm);
  many(comm);
  CALL(MPI_Comm_free, (&comm));
}

/* Two dimensions: a ring, and a direction in which nobody is beside a rank. */
PATH static void ring(void) {
  FUNCTION;
  MPI_Comm comm;
  int dims[2] = {size, 1}, periods[2] = {1, 0};
  CALL(MPI_Cart_create, (world, 2, dims, periods, 0, &comm));
  destinations = sources = 4;
  to_exists[0] = to_exists[1] = from_exists[0] = from_exists[1] = 1;
  to_exists[2] = to_exists[3] = from_exists[2] = from_exists[3] = 0;
  few(comm);
  many(comm);
  CALL(MPI_Comm_free, (&comm));
}

/* A star: rank 0 is beside everybody. */
PATH static void star(void) {
  FUNCTION;
  MPI_Comm comm;
  int index[max_ranks], edges[2 * max_ranks];
  for (int i = 0; i < size; ++i) {
    index[i] = size - 1 + i;
    if (i) edges[i - 1] = i;
    edges[size - 1 + i - (i > 0)] = 0;
  }
  CALL(MPI_Graph_create, (world, size, index, edges, 0, &comm));
  destinations = sources = rank ? 1 : size - 1;
  for (int i = 0; i < sources; ++i) to_exists[i] = from_exists[i] = 1;
  few(comm);
  many(comm);
  CALL(MPI_Comm_free, (&comm));
}

/* One way round: from the left neighbour to the right one. */
PATH static void one_way(void) {
  FUNCTION;
  MPI_Comm comm;
  CALL(MPI_Dist_graph_create_adjacent,
       (world, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
  destinations = sources = 1;
  to_exists[0] = from_exists[0] = 1;
  few(comm);
  many(comm);
  CALL(MPI_Comm_free, (&comm));
}

/* Rank 0 sends to everybody, itself included; the edges are told by the last rank. */
PATH static void outwards(void) {
  FUNCTION;
  MPI_Comm comm;
  int source = 0, degree = size, targets[max_ranks];
  for (int i = 0; i < size; ++i) targets[i] = i;
  CALL(MPI_Dist_graph_create,
       (world, rank == size - 1, &source, &degree, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
  destinations = rank ? 0 : size;
  sources = 1;
  for (int i = 0; i < size; ++i) to_exists[i] = from_exists[i] = 1;
  few(comm);
  many(comm);
  CALL(MPI_Comm_free, (&comm));
}

int main(int argc, char** argv) {
  int provided;
  CALL(MPI_Init_thread, (&argc, &argv, MPI_THREAD_FUNNELED, &provided));
  begin();
  line();
  ring();
  star();
  one_way();
  outwards();
  print();
  CALL(MPI_Finalize, ());
  return end();
}

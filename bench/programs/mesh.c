/* A routine like VELO of CX3D (Wolf and Mohr, Automatic Performance Analysis of MPI Applications Based on Event Traces,
 * section 5): the cells of a mesh are distributed in two dimensions, and the last process of a dimension has the
 * remainder. Usage:
 *   mesh PROCESSES_X PROCESSES_Y [STEPS [NANOSECONDS_PER_CELL]]
 * In each step every process computes its cells and then exchanges edges with its neighbors by blocking messages. It
 * sleeps instead of computing, so there may be more processes than processors. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { cells_x = 100, cells_y = 60, values = 64 };
static int sizes[2], steps = 60;
static double ns_per_cell = 20000;
static double edge[values], other_edge[values];

static __attribute__((noinline)) void compute(int cells) {
  const long ns = (long)(cells * ns_per_cell);
  const struct timespec time = {ns / 1000000000, ns % 1000000000};
  nanosleep(&time, NULL);
}

/* Returns how many of the `count` cells in a dimension the process has; the last process has the remainder. */
static int own_cells(int count, int coordinate, int processes) {
  const int each = (count + processes - 1) / processes;
  const int rest = count - coordinate * each;
  return rest < 0 ? 0 : rest < each ? rest : each;
}

static __attribute__((noinline)) void velo(MPI_Comm mesh, const int coordinates[2]) {
  compute(own_cells(cells_x, coordinates[0], sizes[0]) * own_cells(cells_y, coordinates[1], sizes[1]));
  for (int dimension = 0; dimension < 2; ++dimension)
    for (int direction = -1; direction <= 1; direction += 2) {
      int from, to;
      MPI_Cart_shift(mesh, dimension, direction, &from, &to);
      MPI_Send(edge, values, MPI_DOUBLE, to, dimension, mesh);
      MPI_Recv(other_edge, values, MPI_DOUBLE, from, dimension, mesh, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size, rank, coordinates[2];
  const int periods[2] = {0, 0};
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3 || atoi(argv[1]) * atoi(argv[2]) != size) {
    fputs("usage: mesh PROCESSES_X PROCESSES_Y [STEPS [NANOSECONDS_PER_CELL]], with X times Y processes\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  sizes[0] = atoi(argv[1]), sizes[1] = atoi(argv[2]);
  if (argc > 3) steps = atoi(argv[3]);
  if (argc > 4) ns_per_cell = atof(argv[4]);
  MPI_Comm mesh;
  MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &mesh);
  MPI_Comm_rank(mesh, &rank);
  MPI_Cart_coords(mesh, rank, 2, coordinates);
  for (int step = 0; step < steps; ++step) velo(mesh, coordinates);
  MPI_Finalize();
  return 0;
}

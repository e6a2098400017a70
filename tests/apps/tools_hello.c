/* The least that an MPI program does. Exits with the number its first argument says. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  printf("rank %d of %d\n", rank, ranks);
  /* Well before the end: Open MPI's launcher does not wait for the output of processes that end with a status. */
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}

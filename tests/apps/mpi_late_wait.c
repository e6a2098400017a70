/* A plug-in of mpi_late: rank 1 comes late to each of 50 barriers, by its own clock. Each rank prints for how long it
 * was in them.
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int plugin_main(int argc, char** argv) {
  int provided, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double waited = 0;
  for (int i = 0; i < 50; ++i) {
    const double end = seconds() + (rank == 1 ? 0.008 : 0.001);
    while (seconds() < end) continue;
    waited -= seconds();
    MPI_Barrier(MPI_COMM_WORLD);
    waited += seconds();
  }
  fprintf(stderr, "rank %d waited %.6f\n", rank, waited);
  MPI_Finalize();
  return 0;
}

/* A rank that does not run within a call: the reduction operation of rank 1 sleeps in MPI_Reduce_local, so its message
 * to rank 0 is late.
 *
 *   off_cpu_calls ROUNDS SECONDS
 *
 * Prints one line of JSON, of rank 1: {"off_s": wall time less CPU time around the calls, in seconds}
 */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds;

static void sleeps(void* in, void* out, int* count, MPI_Datatype* type) {
  (void)in, (void)out, (void)count, (void)type;
  struct timespec t = {0, (long)(1e9 * seconds)};
  while (nanosleep(&t, &t) != 0 && errno == EINTR) {
  }
}

static double clock_s(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double off_s(void) { return clock_s(CLOCK_MONOTONIC) - clock_s(CLOCK_THREAD_CPUTIME_ID); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) return 2;
  const int rounds = atoi(argv[1]);
  seconds = atof(argv[2]);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Op operation;
  MPI_Op_create(sleeps, 1, &operation);
  double off = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < rounds && rank < 2; ++i) {
    int own = i, sum = 0;
    if (rank == 1) {
      const double begin = off_s();
      MPI_Reduce_local(&own, &sum, 1, MPI_INT, operation);
      off += off_s() - begin;
      MPI_Send(&sum, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&sum, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  if (rank == 1) printf("{\"off_s\": %.9f}\n", off);
  fflush(stdout);
  MPI_Op_free(&operation);
  MPI_Finalize();
  return 0;
}

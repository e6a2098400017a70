/* Ranks that share a core and yield it in MPI. Usage: yields exchange|wait COUNT
   exchange: two ranks send messages back and forth, so that the core switches to the other rank in each call.
   wait: rank 0 computes before each message, and the other ranks keep yielding to it and to each other.
   Rank 1 prints the elapsed seconds and its context switches per second. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Takes a third of a millisecond on an otherwise idle core. */
static void compute(void) {
  static volatile double sink;
  for (int i = 0; i < 200000; ++i) sink += i;
}

static long switches(void) {
  struct rusage of;
  getrusage(RUSAGE_THREAD, &of);
  return of.ru_nvcsw + of.ru_nivcsw;
}

int main(int argc, char** argv) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof one, &one);
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int exchanges = argc > 1 && strcmp(argv[1], "exchange") == 0;
  const long count = argc > 2 ? atol(argv[2]) : 1000;
  char byte = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  const long before = switches();
  for (long i = 0; i < count; ++i) {
    if (rank == 0) {
      if (!exchanges) compute();
      for (int other = 1; other < ranks; ++other) MPI_Send(&byte, 1, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&byte, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!exchanges) continue;
    if (rank == 0) MPI_Recv(&byte, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else MPI_Send(&byte, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
  const double seconds = MPI_Wtime() - begin;
  if (rank == 1) printf("%.6f %.0f\n", seconds, (double)(switches() - before) / seconds);
  MPI_Finalize();
  return 0;
}

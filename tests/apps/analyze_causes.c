/* Rank 1 computes longer than rank 0 before each reduction: smooth() for 30 ms and other() for 10 ms beside the 20 ms
   of common() that both have, by the wall clock. Usage: analyze_causes STEPS */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static volatile double sink;

#define WORK(name, seconds)                                \
  __attribute__((noinline)) static void name(void) {       \
    for (const double end = now() + seconds; now() < end;) \
      for (int i = 0; i < 5000; ++i) sink += 1;            \
  }
WORK(common, 0.020)
WORK(smooth, 0.030)
WORK(other, 0.010)

__attribute__((noinline)) static void solve(int rank) {
  double value = rank, sum;
  common();
  if (rank == 1) {
    smooth();
    other();
  }
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  sink += sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = argc > 1 ? atoi(argv[1]) : 10; step > 0; --step) solve(rank);
  MPI_Finalize();
  return 0;
}

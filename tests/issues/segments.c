/* A loop of two functions and a barrier, to be linked in many ways: into segments with holes between them, without
 * tables. Each round takes about as long as its argument says, in seconds. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noinline)) double work(double until) {
  double sum = 0;
  while (now() < until)
    for (int i = 1; i < 10000; i++) sum += 1.0 / i;
  return sum;
}

__attribute__((noinline)) double step(double seconds) {
  const double sum = work(now() + seconds);
  MPI_Barrier(MPI_COMM_WORLD);
  return sum;
}

int main(int argc, char** argv) {
  double sum = 0;
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 10; i++) sum += step(atof(argv[1]));
  MPI_Finalize();
  return sum == 1;
}

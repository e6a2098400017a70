// A program without marks: main distributes the input, runs the main loop and collects the results, each with an
// operation of its own.
#include <mpi.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static volatile double sink;

static void work(double seconds) {
  const double end = now() + seconds;
  while (now() < end)
    for (int i = 0; i < 1000; ++i) sink += i;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double value = 1, sum = 0;
  for (int i = 0; i < 12; ++i) {
    work(0.002);
    MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  for (int i = 0; i < 200; ++i) {
    work(0.004);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  for (int i = 0; i < 15; ++i) MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}

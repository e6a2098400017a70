/* refine() is called in every 20th iteration only and has an MPI call of its own; split() is below it.
   Usage: iterations_refine ITERATIONS. Prints the CPU seconds in split(). */
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile double sink;
static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void work(double seconds) {
  const double until = cpu() + seconds;
  while (cpu() < until)
    for (int i = 0; i < 1000; ++i) sink += 1.0 / (i + 1);
}
__attribute__((noinline)) static void split(void) {
  work(2e-3);
  sink += 1; /* no tail call */
}
__attribute__((noinline)) static void stencil(void) {
  work(4e-3);
  sink += 2;
}
__attribute__((noinline)) static double refine(void) {
  double in = 1, out;
  const double begin = cpu();
  split();
  const double took = cpu() - begin;
  MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return took;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int iterations = argc > 1 ? atoi(argv[1]) : 300;
  double in_split = 0;
  REFRAIN_LOOP_BEGIN("timestep");
  for (int i = 0; i < iterations; ++i) {
    REFRAIN_ITERATION_BEGIN();
    stencil();
    MPI_Barrier(MPI_COMM_WORLD);
    if (i % 20 == 19) in_split += refine();
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  printf("%.6f\n", in_split);
  MPI_Finalize();
  return 0;
}

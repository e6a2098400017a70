/* Runs a marked loop of short iterations, each with WORK dependent multiplications and one MPI_Allreduce from each of
   PATHS call paths. Prints the CPU time per iteration in microseconds. Usage: iterations ITERATIONS WORK PATHS */
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/programs/call_paths.h"

static void reduce_one(void) {
  double in = 1, out;
  MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

CALL_PATHS(reduce, reduce_one())

__attribute__((noinline)) static double work(long n) {
  volatile double start = 1.0000001;
  double x = start;
  for (long i = 0; i < n; ++i) x = x * start - 1e-9;
  return x;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long iterations = argc > 1 ? atol(argv[1]) : 100000, amount = argc > 2 ? atol(argv[2]) : 0;
  const unsigned paths = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
  struct timespec begin, end;
  double sum = 0;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  REFRAIN_LOOP_BEGIN("loop");
  for (long i = 0; i < iterations; ++i) {
    REFRAIN_ITERATION_BEGIN();
    sum += work(amount);
    for (unsigned p = 0; p < paths; ++p) reduce(p, 9);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  const double us = (double)(end.tv_sec - begin.tv_sec) * 1e6 + (double)(end.tv_nsec - begin.tv_nsec) * 1e-3;
  MPI_Finalize();
  printf("%.6f\n", us / (double)iterations);
  return sum == 0.125;
}

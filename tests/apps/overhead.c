/* STEPS steps of a stencil code's kind on one rank: a sweep over 2 MiB of data, about a millisecond, and then the MPI
   calls of a step: an exchange with four neighbours (MPI_PROC_NULL, so nothing waits) and a sum. Prints the CPU time of
   the steps, without MPI_Init and MPI_Finalize, and a checksum. Usage: overhead STEPS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { cells = 256 * 1024 };
static double from[cells], to[cells];

static __attribute__((noinline)) void sweep(double* restrict out, const double* restrict in) {
  for (int round = 0; round < 4; ++round)
    for (int i = 1; i + 1 < cells; ++i) out[i] = 0.25 * in[i - 1] + 0.5 * in[i] + 0.25 * in[i + 1] + out[i] * 1e-9;
}

static __attribute__((noinline)) void exchange(double* values) {
  MPI_Request requests[8];
  for (int i = 0; i < 4; ++i) {
    MPI_Irecv(values, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[2 * i]);
    MPI_Isend(values + 1, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[2 * i + 1]);
  }
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int steps = argc > 1 ? atoi(argv[1]) : 1000;
  for (int i = 0; i < cells; ++i) from[i] = i % 17;
  double sum = 0;
  const double begin = cpu_seconds();
  for (int step = 0; step < steps; ++step) {
    sweep(step % 2 ? from : to, step % 2 ? to : from);
    exchange(from);
    MPI_Allreduce(&to[step % cells], &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  printf("{\"cpu_s\": %.6f, \"sum\": %.17g}\n", cpu_seconds() - begin, sum);
  MPI_Finalize();
  return 0;
}

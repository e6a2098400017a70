/* Makes MPI calls that move no data from two call sites in turn, DEPTH frames deep. Prints the CPU time per call in
   nanoseconds, the minimum over batches. Usage: null_call DEPTH [CALLS] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static volatile int keep_frame;

__attribute__((noinline)) static double calls(long pairs) {
  char buffer[8] = {0};
  double begin = cpu_ns();
  for (long i = 0; i < pairs; ++i) {
    MPI_Send(buffer, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return (cpu_ns() - begin) / (2.0 * pairs);
}

__attribute__((noinline)) static double descend(int depth, long pairs) {
  double result = depth <= 1 ? calls(pairs) : descend(depth - 1, pairs);
  keep_frame = depth;
  return result;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int depth = argc > 1 ? atoi(argv[1]) : 10;
  long total = argc > 2 ? atol(argv[2]) : 2000000, batch = 100000;
  double best = 1e300;
  descend(depth, 10000);
  for (long done = 0; done < total; done += 2 * batch) {
    double t = descend(depth, batch);
    if (t < best) best = t;
  }
  printf("%.2f\n", best);
  MPI_Finalize();
  return 0;
}

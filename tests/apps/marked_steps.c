/* A marked loop of an MPI program: each iteration computes for so long by the thread's own CPU clock, passes something
   on to the next rank, and every tenth time all meet. Usage: marked_steps ITERATIONS MICROSECONDS [MICROSECONDS of a
   second loop, "again", which only computes] */
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdlib.h>
#include <time.h>

static double cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static volatile double sink;

__attribute__((noinline)) static void relax(double seconds) {
  for (const double end = cpu_now() + seconds; cpu_now() < end;)
    for (int i = 0; i < 300; ++i) sink += 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int iterations = argc > 1 ? atoi(argv[1]) : 100;
  const double seconds = (argc > 2 ? atof(argv[2]) : 1000) * 1e-6;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double out[100] = {0}, in[100];
  REFRAIN_LOOP_BEGIN("step");
  for (int i = 0; i < iterations; ++i) {
    REFRAIN_ITERATION_BEGIN();
    relax(seconds);
    MPI_Sendrecv(out, 100, MPI_DOUBLE, (rank + 1) % size, 0, in, 100, MPI_DOUBLE, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (i % 10 == 0) MPI_Barrier(MPI_COMM_WORLD);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  if (argc > 3) {
    REFRAIN_LOOP_BEGIN("again");
    for (int i = 0; i < iterations; ++i) {
      REFRAIN_ITERATION_BEGIN();
      relax(atof(argv[3]) * 1e-6);
      REFRAIN_ITERATION_END();
    }
    REFRAIN_LOOP_END();
  }
  MPI_Finalize();
  return 0;
}

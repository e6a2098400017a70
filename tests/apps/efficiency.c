/* A program that draws its factors and keeps its own book: useful time is wall time around the calls of MPI, and CPU
   time of the thread tells how much of it was on a CPU. Arguments: the kind, work of even and of odd ranks in seconds,
   and the number of steps. Rank 0 prints a line of JSON for each rank. */
#include <mpi.h>
#include <pthread.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(clockid_t of) {
  struct timespec now;
  clock_gettime(of, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double useful_s, on_cpu_s, begin_s, begin_cpu_s;

static void leave_useful(void) {
  useful_s += seconds(CLOCK_MONOTONIC) - begin_s;
  on_cpu_s += seconds(CLOCK_THREAD_CPUTIME_ID) - begin_cpu_s;
}
static void enter_useful(void) {
  begin_s = seconds(CLOCK_MONOTONIC);
  begin_cpu_s = seconds(CLOCK_THREAD_CPUTIME_ID);
}
#define IN_MPI(call) \
  do {               \
    leave_useful();  \
    call;            \
    enter_useful();  \
  } while (0)

static volatile double sink;
static void work(double cpu_s) {
  const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + cpu_s;
  while (seconds(CLOCK_THREAD_CPUTIME_ID) < end)
    for (int i = 0; i < 2000; ++i) sink += i;
}

/* A second thread that is on a CPU for a fifth of the first one's work, all of it before the loop ends. */
static double worker_s;
static void* work_beside(void* total_s) {
  const double begin_cpu_s = seconds(CLOCK_THREAD_CPUTIME_ID);
  work(*(double*)total_s);
  worker_s = seconds(CLOCK_THREAD_CPUTIME_ID) - begin_cpu_s;
  return NULL;
}

/* All work, and wait for the slowest. */
static void step_of_balance(int rank, double even_s, double odd_s) {
  work(rank % 2 ? odd_s : even_s);
  IN_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* One rank works at a time, in a ring. */
static void step_of_chain(int rank, int ranks, double even_s, double odd_s) {
  int token = 0;
  if (rank > 0) IN_MPI(MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  work(rank % 2 ? odd_s : even_s);
  IN_MPI(MPI_Send(&token, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD));
  if (rank == 0) IN_MPI(MPI_Recv(&token, 1, MPI_INT, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double even_s = atof(argv[2]), odd_s = atof(argv[3]);
  const int steps = atoi(argv[4]);
  MPI_Barrier(MPI_COMM_WORLD);
  const double loop_begin_s = seconds(CLOCK_MONOTONIC);
  REFRAIN_LOOP_BEGIN("steps");
  enter_useful();
  const int has_worker = !strcmp(argv[1], "threads");
  double total_s = 0.2 * steps * even_s;
  pthread_t worker;
  if (has_worker) pthread_create(&worker, NULL, work_beside, &total_s);
  for (int i = 0; i < steps; ++i) {
    REFRAIN_ITERATION_BEGIN();
    if (!strcmp(argv[1], "chain")) step_of_chain(rank, ranks, even_s, odd_s);
    else if (!strcmp(argv[1], "step") && i < steps / 2) step_of_balance(rank, even_s, even_s);
    else step_of_balance(rank, even_s, odd_s);
    REFRAIN_ITERATION_END();
  }
  if (has_worker) pthread_join(worker, NULL);
  leave_useful();
  REFRAIN_LOOP_END();
  double mine[4] = {useful_s, on_cpu_s, seconds(CLOCK_MONOTONIC) - loop_begin_s, worker_s};
  double* all = malloc(4 * sizeof *all * (size_t)ranks);
  MPI_Gather(mine, 4, MPI_DOUBLE, all, 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (int r = 0; rank == 0 && r < ranks; ++r)
    printf("{\"rank\": %d, \"useful_s\": %.9f, \"on_cpu_s\": %.9f, \"elapsed_s\": %.9f, \"worker_s\": %.9f}\n", r,
           all[4 * r], all[4 * r + 1], all[4 * r + 2], all[4 * r + 3]);
  free(all);
  MPI_Finalize();
  return 0;
}

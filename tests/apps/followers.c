/* Threads whose work follows the iterations of the main thread: only that one has marks.
 *
 *   followers alternate ITERATIONS MS   all OpenMP threads run even_work, odd_work, even_work ... for MS each
 *   followers short ITERATIONS US       the same, with iterations of US
 *   followers created ITERATIONS MS     a thread per iteration, from its begin to its end, which works for MS
 *   followers calls ITERATIONS          a thread makes 1 + i % 3 MPI calls in iteration i, after a region when i is odd
 *   followers waits ITERATIONS MS       a thread is in one MPI call for all iterations but the first and the last
 *   followers late ITERATIONS           a thread that begins in the middle and ends before the last quarter
 *   followers stall ITERATIONS          two threads that begin after so many iterations; prints how long the slowest of
 * 100 iterations beside them took to begin or end, in ms followers own ITERATIONS            a thread with a loop of
 * its own of half as many iterations
 *
 * KILL_AT=i in the environment: the process kills itself in iteration i.
 */
#include <mpi.h>
#include <pthread.h>
#include <refrain/refrain.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATH __attribute__((noinline, noclone))

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static volatile double sink;
PATH static void even_work(double until) {
  while (now() < until)
    for (int i = 0; i < 100; ++i) sink += i;
}
PATH static void odd_work(double until) { /* not the same code: the compiler would make one function of both */
  while (now() < until)
    for (int i = 0; i < 100; ++i) sink -= i;
}
static void work(int iteration, double until) {
  if (iteration % 2) odd_work(until);
  else even_work(until);
}

static pthread_barrier_t begin, end;
static int iterations;
static double duration;

static void* create_work(void* iteration) {
  work(*(int*)iteration, now() + duration);
  return NULL;
}
static void* make_calls(void* unused) {
  (void)unused;
  for (int i = 0; i < iterations; ++i) {
    pthread_barrier_wait(&begin);
    if (i % 2) {
      REFRAIN_REGION_BEGIN("odd");
      REFRAIN_REGION_END("odd");
    }
    for (int k = 0; k < 1 + i % 3; ++k) {
      double in = 1, out;
      MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    }
    pthread_barrier_wait(&end);
  }
  return NULL;
}
static void* wait_long(void* unused) {
  int message;
  pthread_barrier_wait(&begin);
  MPI_Recv(&message, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  pthread_barrier_wait(&end);
  return unused;
}
static void* stay(void* unused) {
  pthread_barrier_wait(&begin);
  pthread_barrier_wait(&end);
  return unused;
}
static void* run_own(void* unused) {
  pthread_barrier_wait(&begin);
  REFRAIN_LOOP_BEGIN("own");
  for (int i = 0; i < iterations / 2; ++i) {
    REFRAIN_ITERATION_BEGIN();
    double in = 1, out;
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  pthread_barrier_wait(&end);
  return unused;
}

static double slowest_mark(void) {
  double slowest = 0;
  for (int i = 0; i < 100; ++i) {
    const double before = now();
    REFRAIN_ITERATION_BEGIN();
    const double after = now();
    even_work(after + 1e-3);
    const double done = now();
    REFRAIN_ITERATION_END();
    const double took = after - before + now() - done;
    if (took > slowest) slowest = took;
  }
  return slowest;
}
static double stall(void) {
  pthread_t threads[2];
  double slowest;
  REFRAIN_LOOP_BEGIN("step");
  for (int i = 0; i < iterations; ++i) {
    REFRAIN_ITERATION_BEGIN();
    REFRAIN_ITERATION_END();
  }
  duration = 0.05;
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, create_work, &iterations);
  slowest = slowest_mark();
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  REFRAIN_LOOP_END();
  return slowest;
}

int main(int argc, char** argv) {
  int provided, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* mode = argc > 2 ? argv[1] : "";
  iterations = argc > 2 ? atoi(argv[2]) : 0;
  duration = argc > 3 ? atof(argv[3]) * (strcmp(mode, "short") == 0 ? 1e-6 : 1e-3) : 0;
  pthread_barrier_init(&begin, NULL, 2);
  pthread_barrier_init(&end, NULL, 2);
  const int kill_at = getenv("KILL_AT") ? atoi(getenv("KILL_AT")) : -1;
  if (strcmp(mode, "stall") == 0) {
    printf("%.3f\n", 1e3 * stall());
    MPI_Finalize();
    return 0;
  }
  pthread_t thread;
#pragma omp parallel num_threads(2)
  { even_work(now() + 0.01); }
  if (strcmp(mode, "calls") == 0) pthread_create(&thread, NULL, make_calls, NULL);
  if (strcmp(mode, "waits") == 0) pthread_create(&thread, NULL, wait_long, NULL);
  if (strcmp(mode, "own") == 0) pthread_create(&thread, NULL, run_own, NULL);

  REFRAIN_LOOP_BEGIN("step");
  for (int i = 0; i < iterations; ++i) {
    REFRAIN_ITERATION_BEGIN();
    if (strcmp(mode, "alternate") == 0 || strcmp(mode, "short") == 0) {
      const double until = now() + duration;
#pragma omp parallel num_threads(2)
      work(i, until);
    } else if (strcmp(mode, "created") == 0) {
      pthread_create(&thread, NULL, create_work, &i);
      pthread_join(thread, NULL);
    } else if (strcmp(mode, "calls") == 0) {
      pthread_barrier_wait(&begin);
      pthread_barrier_wait(&end);
    } else if (strcmp(mode, "waits") == 0) {
      if (i == 1) pthread_barrier_wait(&begin);
      work(i, now() + duration);
      if (i == iterations - 2) {
        MPI_Send(&i, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
        pthread_barrier_wait(&end);
      }
    } else if (strcmp(mode, "late") == 0) {
      if (i == iterations / 2) {
        pthread_create(&thread, NULL, stay, NULL);
        pthread_barrier_wait(&begin);
      }
      if (i == iterations - iterations / 4 - 1) {
        pthread_barrier_wait(&end);
        pthread_join(thread, NULL);
      }
    } else if (strcmp(mode, "own") == 0) {
      if (i == iterations / 2) pthread_barrier_wait(&begin);
      if (i == iterations / 2) pthread_barrier_wait(&end);
    } else {
      work(i, now() + duration);
    }
    if (i == kill_at) raise(SIGKILL);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  if (strcmp(mode, "calls") == 0 || strcmp(mode, "waits") == 0 || strcmp(mode, "own") == 0) pthread_join(thread, NULL);
  if (rank == 0) printf("%d\n", iterations);
  MPI_Finalize();
  return 0;
}

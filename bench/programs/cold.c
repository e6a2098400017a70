/* Measures the time that Refrain adds to operations if the program does other work between them. Before each operation
 * the program touches KIB of memory, so that most data and code of Refrain have left the caches. Everything runs below
 * a recursion of the given depth. A run compares in turn:
 *
 * - call: MPI_Send to MPI_PROC_NULL, with the MPI library's own PMPI_Send, which no tool intercepts;
 * - end: the end of an iteration, with nothing;
 * - tick: the sampling signal (number SIGNAL, sent to the thread itself), with a signal that has an empty handler.
 *
 * Prints the medians and 90th percentiles of their times in nanoseconds, minus the time to read the clock:
 * call p90 bare p90 end p90 tick p90 empty p90
 *
 *   cold DEPTH KIB ROUNDS [SIGNAL]
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <refrain/refrain.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/programs/own_library.h"

typedef int (*send_function)(const void*, int, MPI_Datatype, int, int, MPI_Comm);

enum { call, bare, end, tick, empty, nothing, kinds };
static double* times[kinds];
static send_function bare_send;
static char* memory;
static long bytes, rounds;
static int sampling_signal, empty_signal, process, thread;
static volatile long sink;
static volatile int keep_frame;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

__attribute__((noinline)) static void touch(void) {
  long sum = 0;
  for (long i = 0; i < bytes; i += 64) sum += memory[i]++;
  sink = sum;
}

#define TIMED(kind, operation)      \
  do {                              \
    touch();                        \
    const double begin = now();     \
    operation;                      \
    times[kind][i] = now() - begin; \
  } while (0)

__attribute__((noinline)) static void measure(void) {
  double x = 0;
  REFRAIN_LOOP_BEGIN("cold");
  for (long i = 0; i < rounds; ++i) {
    REFRAIN_ITERATION_BEGIN();
    TIMED(nothing, (void)0);
    TIMED(call, MPI_Send(&x, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    TIMED(bare, bare_send(&x, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    if (sampling_signal) {
      TIMED(tick, syscall(SYS_tgkill, process, thread, sampling_signal));
      TIMED(empty, syscall(SYS_tgkill, process, thread, empty_signal));
    }
    TIMED(end, REFRAIN_ITERATION_END());
  }
  REFRAIN_LOOP_END();
}

__attribute__((noinline)) static void descend(int depth) {
  if (depth <= 1) measure();
  else descend(depth - 1);
  keep_frame = depth;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static void do_nothing(int signal) { (void)signal; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int depth = argc > 1 ? atoi(argv[1]) : 5;
  bytes = (argc > 2 ? atol(argv[2]) : 0) * 1024;
  rounds = argc > 3 ? atol(argv[3]) : 1000;
  sampling_signal = argc > 4 ? atoi(argv[4]) : 0;
  empty_signal = SIGRTMIN + 3;
  process = getpid();
  thread = (int)syscall(SYS_gettid);
  signal(empty_signal, do_nothing);
  bare_send = (send_function)mpi_library_function("PMPI_Send");
  if (!bare_send || rounds < 1) return 1;
  memory = calloc(1, (size_t)bytes + 1);
  for (int kind = 0; kind < kinds; ++kind) times[kind] = calloc((size_t)rounds, sizeof **times);
  descend(depth);
  MPI_Finalize();
  for (int kind = 0; kind < kinds; ++kind) qsort(times[kind], (size_t)rounds, sizeof **times, by_size);
  const double clock = times[nothing][rounds / 2];
  for (int kind = 0; kind < nothing; ++kind) {
    const double* of = times[kind];
    const int is_measured = of[rounds - 1] > 0;
    printf("%.0f %.0f ", is_measured ? of[rounds / 2] - clock : 0, is_measured ? of[rounds * 9 / 10] - clock : 0);
  }
  printf("\n");
  return 0;
}

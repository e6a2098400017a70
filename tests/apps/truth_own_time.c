/* Own overhead of calls and iterations with cold caches, by difference: MPI_Send to MPI_PROC_NULL, which a tool wraps,
 * and the MPI library's own PMPI_Send, which it does not see, each after as many MiB were touched. Prints the mean
 * nanoseconds of both, and of the marks of an iteration, as JSON. Times in which the kernel has switched the process
 * out are left out.
 *
 *   truth_own_time ROUNDS MIB
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "bench/programs/own_library.h"

typedef int (*send_function)(const void*, int, MPI_Datatype, int, int, MPI_Comm);

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
static long switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

static char* memory;
static long bytes;
static volatile long sink;
__attribute__((noinline)) static void touch(void) {
  long sum = 0;
  for (long i = 0; i < bytes; i += 64) sum += memory[i]++;
  sink = sum;
}

struct mean {
  double sum;
  long count;
};
#define TIMED(mean, call)            \
  do {                               \
    touch();                         \
    const long before = switches();  \
    const long begin = now();        \
    call;                            \
    const long time = now() - begin; \
    if (switches() == before) {      \
      (mean).sum += (double)time;    \
      ++(mean).count;                \
    }                                \
  } while (0)

static void nothing(struct mean* mean) { TIMED(*mean, (void)0); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long rounds = argc > 1 ? atol(argv[1]) : 100;
  bytes = (argc > 2 ? atol(argv[2]) : 8) << 20;
  memory = calloc(1, (size_t)bytes + 1);
  const send_function bare_send = (send_function)mpi_library_function("PMPI_Send");
  if (!bare_send) return 1;
  struct mean clock = {0}, wrapped = {0}, bare = {0}, iteration = {0};
  double x = 0;
  REFRAIN_LOOP_BEGIN("cold");
  for (long i = 0; i < rounds; ++i) {
    REFRAIN_ITERATION_BEGIN();
    nothing(&clock);
    TIMED(wrapped, MPI_Send(&x, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    TIMED(bare, bare_send(&x, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    TIMED(iteration, REFRAIN_ITERATION_END());
  }
  REFRAIN_LOOP_END();
  const double cost = clock.sum / (double)clock.count;
#define NS(mean) ((mean).sum / (double)(mean).count - cost)
  printf("{\"wrapped_ns\": %.1f, \"bare_ns\": %.1f, \"iteration_end_ns\": %.1f, \"calls\": %ld, \"timed\": %ld}\n",
         NS(wrapped), NS(bare), NS(iteration), rounds, wrapped.count);
  MPI_Finalize();
  return 0;
}

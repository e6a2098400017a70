/* Executes the operations for which cache_lines.py counts cache lines: in a warm loop, the end of an iteration, an MPI
   call and a signal (number SIGNAL, sent to the thread itself), in this order, each between two breakpoints.
   Single-stepping takes very long, so each operation has an iteration of its own. The end comes first, so that its
   iteration is like those before. Usage: one_of_each DEPTH SIGNAL */
#define _GNU_SOURCE
#include <mpi.h>
#include <refrain/refrain.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int keep_frame;

/* The functions are called through a pointer, so that the stepped operations have the same call paths as earlier ones.
 */
__attribute__((noinline)) static void pass(void) { keep_frame = 0; }
__attribute__((noinline)) static void breakpoint(void) { asm volatile("int3"); }
static void (*volatile stop)(void) = pass;

#define STEPPED(operation) \
  do {                     \
    stop();                \
    operation;             \
    stop();                \
  } while (0)

enum { step_end = 203, step_call = 205, step_signal = 208, iterations = 210 };

/* A function that is not inlined: else the compiler would copy the loop's body for the iterations that stop, and the
   copy would have call sites of its own. */
__attribute__((noinline, noclone)) static void stop_if(int wanted) { stop = wanted ? breakpoint : pass; }

__attribute__((noinline)) static void measure(int signal) {
  const int process = getpid(), thread = (int)syscall(SYS_gettid);
  double x = 0;
  REFRAIN_LOOP_BEGIN("warm");
  for (int i = 0; i < iterations; ++i) {
    REFRAIN_ITERATION_BEGIN();
    for (int k = 0; k < 4; ++k) {
      stop_if(i == step_call && k == 2);
      STEPPED(MPI_Send(&x, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    }
    stop_if(i == step_signal);
    if (i % 8 == 0) STEPPED(syscall(SYS_tgkill, process, thread, signal));
    stop_if(i == step_end);
    STEPPED(REFRAIN_ITERATION_END());
    stop_if(0);
  }
  REFRAIN_LOOP_END();
}

__attribute__((noinline)) static void descend(int depth, int signal) {
  if (depth <= 1) measure(signal);
  else descend(depth - 1, signal);
  keep_frame = depth;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  descend(argc > 1 ? atoi(argv[1]) : 5, argc > 2 ? atoi(argv[2]) : 60);
  MPI_Finalize();
  return 0;
}

/* A program that has signal handlers of its own, and a thread that sleeps:
 *
 *   signal_jumps jumps ITERATIONS   leaves each by siglongjmp out of the handler of SIGALRM, wherever that comes
 *   signal_jumps stays SECONDS      computes so long (CPU time), while SIGPROF counts
 *
 * The timers send their signals to the process. SIGPROF comes while the first thread runs: only when that blocks it the
 * kernel hands it on to the other one, which sleeps. SIGALRM may come while the first thread waits for a core.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <refrain/refrain.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static sigjmp_buf back;
static pthread_t first;
static volatile sig_atomic_t may_jump, here, elsewhere, jumps;

static void count(int signal) {
  (void)signal;
  if (pthread_equal(pthread_self(), first)) ++here;
  else ++elsewhere;
}
static void jump(int signal) {
  (void)signal;
  if (!may_jump || !pthread_equal(pthread_self(), first)) return;
  may_jump = 0;
  ++jumps;
  siglongjmp(back, 1);
}

static void* sleep_for_ever(void* argument) {
  for (;;) poll(NULL, 0, 100000);
  return argument;
}

static void every(int which, long us) {
  struct itimerval t = {{0, us}, {0, us}};
  setitimer(which, &t, NULL);
}

/* Left by a jump alone. */
#pragma GCC diagnostic ignored "-Winfinite-recursion"
__attribute__((noinline)) static int compute_below(int frames) {
  volatile int sum = 0;
  if (frames) return compute_below(frames - 1) + 1;
  for (;;)
    for (int i = 0; i < 1000; ++i) sum += i;
}

static void leave_iterations(int count_of_all) {
  volatile int i = 0;
  REFRAIN_LOOP_BEGIN("jumps");
  for (; i < count_of_all; ++i) {
    int value = i;
    REFRAIN_ITERATION_BEGIN();
    if (!sigsetjmp(back, 1)) {
      may_jump = 1;
      compute_below(5 + i % 40);
    }
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
}

static double cpu_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void compute_for(double seconds) {
  const double end = cpu_s() + seconds;
  do {
    for (volatile int i = 0; i < 10000; ++i) {
    }
  } while (cpu_s() < end);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  first = pthread_self();
  pthread_t sleeper;
  pthread_create(&sleeper, NULL, sleep_for_ever, NULL);
  signal(SIGALRM, jump);
  signal(SIGPROF, count);
  every(ITIMER_PROF, 4000);
  if (!strcmp(argv[1], "jumps")) {
    every(ITIMER_REAL, 700);
    leave_iterations(atoi(argv[2]));
    every(ITIMER_REAL, 0);
  } else {
    compute_for(atof(argv[2]));
  }
  every(ITIMER_PROF, 0);
  printf("jumps %d, signals %s, those of another thread %s\n", (int)jumps, here > 10 ? "came" : "are missing",
         elsewhere * 4 > here ? "many" : "hardly any");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}

/* A program whose floating-point environment is not the usual one, in two threads, while everything of Refrain works
   that computes: marks, calls that begin iterations, samples, snapshots, stops, threads that come and go, the end. Its
   own work is done with integers. Prints the environment at some places; each place must say the same with and without
   Refrain. floating_point MXCSR return|_exit|killed marks|calls|wall */
#define _GNU_SOURCE
#include <pthread.h>
#include <refrain/refrain.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

static int rank = 0, peer = 0;
static unsigned environment;
static volatile int done;
static volatile long sink;

static void set(void) {
  /* The x87 gets the same traps and rounding. */
  const unsigned short control = 0x0300 | (environment >> 7 & 0x3f) | (environment >> 3 & 0x0c00);
  __asm__ volatile("fninit; fldcw %0; ldmxcsr %1" : : "m"(control), "m"(environment));
}

static void say(const char* where) {
  unsigned mxcsr;
  unsigned short control, status;
  __asm__ volatile("stmxcsr %0; fnstcw %1; fnstsw %2" : "=m"(mxcsr), "=m"(control), "=m"(status));
  printf("rank %d %s: mxcsr %04x x87 %04x %04x\n", rank, where, mxcsr, control, status);
  fflush(stdout);
}

static long long cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void pause_us(int microseconds) {
  const struct timespec t = {0, microseconds * 1000};
  nanosleep(&t, NULL);
}

__attribute__((noinline)) static void work(int microseconds) {
  for (const long long end = cpu_ns() + microseconds * 1000ll; cpu_ns() < end;)
    for (int i = 0; i < 500; ++i) sink += i;
}

static void calls(int i) {
#ifdef WITH_MPI
  static char out[512], in[512];
  MPI_Sendrecv(out, i % 100, MPI_BYTE, peer, 0, in, sizeof in, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (i % 4 == 0) MPI_Barrier(MPI_COMM_WORLD);
#else
  (void)i;
#endif
}

static void* short_thread(void* nothing) {
  work(200);
  return nothing;
}

static void* thread(void* nothing) {
  say("in a thread that begins");
  set();
  for (int i = 0; !done; ++i) {
    REFRAIN_REGION_BEGIN("of the thread");
    work(300);
    REFRAIN_REGION_END("of the thread");
    pause_us(700);
#ifdef WITH_MPI
    int size;
    MPI_Type_size(MPI_INT, &size);
#endif
  }
  say("in a thread that ends");
  return nothing;
}

static void iterate(int with_marks, int count) {
  if (with_marks) REFRAIN_LOOP_BEGIN("steps");
  for (int i = 0; i < count; ++i) {
    if (with_marks) REFRAIN_ITERATION_BEGIN();
    work(i % 7 == 0 ? 900 : 300);
    pause_us(1200);
    calls(i);
    if (with_marks) REFRAIN_ITERATION_END();
    if (i % 100 == 50) {
      pthread_t other;
      pthread_create(&other, NULL, short_thread, NULL);
      pthread_join(other, NULL);
    }
  }
  if (with_marks) REFRAIN_LOOP_END();
}

int main(int count, char** words) {
  if (count != 4) return 2;
  environment = strtoul(words[1], NULL, 16);
  const int with_marks = strcmp(words[3], "calls") != 0;
#ifdef WITH_MPI
  int provided;
  MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &peer);
  peer = peer - 1 - rank;
#endif
  set();
  pthread_t other;
  pthread_create(&other, NULL, thread, NULL);
  iterate(with_marks, 600);
  say("after a loop");
#ifdef WITH_MPI
  MPI_Pcontrol(0);
  work(2000);
  MPI_Pcontrol(1);
  iterate(with_marks, 100);
  say("after a stop");
#endif
  done = 1;
  pthread_join(other, NULL);
#ifdef WITH_MPI
  if (environment == 0) {
    environment = 0x1000; /* MPI itself has inexact results there */
    set();
  }
  MPI_Finalize();
#endif
  say("at the end");
  if (strcmp(words[2], "_exit") == 0) _exit(3);
  if (strcmp(words[2], "killed") == 0) raise(SIGTERM);
  return 0;
}

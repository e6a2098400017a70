/* Stops and resumes its own measurement with MPI_Pcontrol. Two ranks.
 *
 *     mpi_control times | requests ROUNDS | iterations | faults | threads | ends_stopped
 *
 * Functions named ..._on are called while it is measured, ..._off while it is not. Prints what only it can know.
 */
#include <mpi.h>
#include <pthread.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline))

static int rank, peer;
static char buffer[1 << 16];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static volatile double x;
static void spin(double seconds) {
  const double end = now() + seconds;
  while (now() < end)
    for (int k = 0; k < 1000; ++k) x += k;
}
APART void spin_on(double seconds) { spin(seconds), x = 0; }
APART void spin_first(double seconds) { spin(seconds), x = 12; }
APART void spin_second(double seconds) { spin(seconds), x = 13; }
APART void spin_off(double seconds) { spin(seconds), x = 1; }

static void swap(int times, int bytes) {
  char other[1000];
  for (int i = 0; i < times; ++i)
    MPI_Sendrecv(buffer, bytes, MPI_CHAR, peer, 0, other, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
APART void swap_on(int times, int bytes) { swap(times, bytes), x = 2; }
APART void swap_off(int times, int bytes) { swap(times, bytes), x = 3; }

/* How long the measurement was off at least and at most: without and with the calls that stop and resume it. */
static void print_stopped(double least, double most) {
  printf("{\"rank\": %d, \"least_s\": %.9f, \"most_s\": %.9f}\n", rank, least, most);
}

static void times(void) {
  swap_on(3, 100);
  spin_first(0.2);
  const double begin = now();
  MPI_Pcontrol(0);
  const double is_off = now();
  swap_off(5, 1000);
  spin_off(0.3);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(0); /* stopped already */
  MPI_Pcontrol(2, "reserved");
  MPI_Pcontrol(-1);
  const double is_on = now();
  MPI_Pcontrol(1);
  const double end = now();
  swap_on(2, 100);
  spin_second(0.2);
  MPI_Pcontrol(1); /* resumed already */
  print_stopped(is_on - is_off, end - begin);
}

/* Receives that are posted and completed on either side of a stop. */
APART void post_on(void* to, int bytes, int tag, MPI_Request* request) {
  MPI_Irecv(to, bytes, MPI_CHAR, peer, tag, MPI_COMM_WORLD, request), x = 4;
}
APART void post_off(void* to, int bytes, int tag, MPI_Request* request) {
  MPI_Irecv(to, bytes, MPI_CHAR, peer, tag, MPI_COMM_WORLD, request), x = 5;
}
APART void prepare_on(void* to, int bytes, int tag, MPI_Request* request) {
  MPI_Recv_init(to, bytes, MPI_CHAR, peer, tag, MPI_COMM_WORLD, request), x = 6;
}
APART void wait_on(MPI_Request* request) { MPI_Wait(request, MPI_STATUS_IGNORE), x = 7; }
APART void wait_off(MPI_Request* request) { MPI_Wait(request, MPI_STATUS_IGNORE), x = 8; }
APART void send_on(int bytes, int tag) { MPI_Send(buffer, bytes, MPI_CHAR, peer, tag, MPI_COMM_WORLD), x = 9; }
APART void send_off(int bytes, int tag) { MPI_Send(buffer, bytes, MPI_CHAR, peer, tag, MPI_COMM_WORLD), x = 10; }
APART void exchange_on(int times) {
  char other[8][8];
  for (int i = 0; i < times; ++i) {
    MPI_Request requests[16];
    for (int k = 0; k < 8; ++k) {
      MPI_Irecv(other[k], 8, MPI_CHAR, peer, k, MPI_COMM_WORLD, &requests[2 * k]);
      MPI_Isend(buffer, 8, MPI_CHAR, peer, k, MPI_COMM_WORLD, &requests[2 * k + 1]);
    }
    MPI_Waitall(16, requests, MPI_STATUSES_IGNORE);
  }
}

static void requests(int rounds) {
  char a[10], b[20], c[30], p[40];
  MPI_Request ra, rb, rc, rp = MPI_REQUEST_NULL;
  prepare_on(p, sizeof p, 4, &rp);
  for (int i = 0; i < rounds; ++i) {
    post_on(a, sizeof a, 1, &ra);
    post_on(b, sizeof b, 2, &rb);
    MPI_Start(&rp);
    MPI_Pcontrol(0);
    post_off(c, sizeof c, 3, &rc);
    send_off(sizeof a, 1);
    send_off(sizeof p, 4);
    wait_off(&ra);
    wait_off(&rp);
    MPI_Start(&rp);
    MPI_Pcontrol(1);
    send_on(sizeof b, 2);
    send_on(sizeof c, 3);
    send_on(sizeof p, 4);
    wait_on(&rb);
    wait_on(&rc);
    wait_on(&rp);
  }
  MPI_Request_free(&rp);
  exchange_on(50); /* handles that were used before */
}

static void iterations(void) {
  double in = 1, out;
  REFRAIN_LOOP_BEGIN("step");
  for (int i = 0; i < 20; ++i) {
    if (i == 5) MPI_Pcontrol(0);
    if (i == 9) MPI_Pcontrol(1);
    REFRAIN_ITERATION_BEGIN();
    spin_on(0.005);
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (i == 12) MPI_Pcontrol(0);
    if (i == 12) spin_off(0.2);
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (i == 12) MPI_Pcontrol(1);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
}

/* Each fresh page is a fault. */
static void touch(size_t pages) {
  volatile char* memory = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  madvise((void*)memory, pages * 4096, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < pages; ++i) memory[i * 4096] = 1;
  munmap((void*)memory, pages * 4096);
}
APART void touch_on(size_t pages) { touch(pages), x = 14; }
APART void touch_off(size_t pages) { touch(pages), x = 15; }

static void faults(void) {
  REFRAIN_LOOP_BEGIN("step");
  for (int i = 0; i < 6; ++i) {
    REFRAIN_ITERATION_BEGIN();
    touch_on(500);
    if (i == 3) {
      MPI_Pcontrol(0);
      touch_off(20000);
      MPI_Pcontrol(1);
      touch_on(1000);
    }
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
}

/* Threads that compute, that wait in a call over both ends of a stop or over one, and that live inside of it. */
static MPI_Comm comms[4];
static volatile int done;
static pthread_barrier_t all_run, begun;

APART void* compute(void* unused) {
  (void)unused;
  pthread_barrier_wait(&all_run);
  while (!done) spin(0.001);
  return NULL;
}
static void receive(int of) {
  char in[256];
  MPI_Recv(in, sizeof in, MPI_CHAR, peer, 0, comms[of], MPI_STATUS_IGNORE);
}
APART void* receive_over_both(void* unused) {
  (void)unused;
  pthread_barrier_wait(&all_run);
  receive(0);
  spin(0.05);
  return NULL;
}
APART void* receive_over_begin(void* unused) {
  (void)unused;
  pthread_barrier_wait(&all_run);
  receive(1);
  spin(0.05);
  return NULL;
}
APART void* receive_over_end(void* unused) {
  (void)unused;
  pthread_barrier_wait(&all_run);
  pthread_barrier_wait(&begun);
  receive(2);
  swap_on(1, 1);
  return NULL;
}
APART void* live_inside(void* unused) {
  (void)unused;
  spin(0.1);
  receive(3);
  return NULL;
}
APART void deliver(int of, int bytes) { MPI_Send(buffer, bytes, MPI_CHAR, peer, 0, comms[of]), x = 11; }

static void threads(void) {
  void* (*const runs[])(void*) = {compute, receive_over_both, receive_over_begin, receive_over_end};
  pthread_t thread[4], inside;
  for (int i = 0; i < 4; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  pthread_barrier_init(&all_run, NULL, 5);
  pthread_barrier_init(&begun, NULL, 2);
  for (int i = 0; i < 4; ++i) pthread_create(&thread[i], NULL, runs[i], NULL);
  pthread_barrier_wait(&all_run);
  spin_on(0.2);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  MPI_Pcontrol(0);
  const double is_off = now();
  MPI_Barrier(MPI_COMM_WORLD); /* what is delivered below arrives where nothing is recorded, too */
  pthread_barrier_wait(&begun);
  pthread_create(&inside, NULL, live_inside, NULL);
  spin_off(0.15);
  deliver(1, 11);
  deliver(3, 13);
  pthread_join(inside, NULL);
  spin_off(0.15);
  const double is_on = now();
  MPI_Pcontrol(1);
  const double end = now();
  MPI_Barrier(MPI_COMM_WORLD);
  spin_on(0.2);
  deliver(0, 10);
  deliver(2, 12);
  done = 1;
  for (int i = 0; i < 4; ++i) pthread_join(thread[i], NULL);
  print_stopped(is_on - is_off, end - begin);
}

/* What comes before the interesting part is left out: resumed in the middle of an iteration. */
static void warm_up(void) {
  swap_on(1, 10);
  spin_on(0.3);
  const double begin = now();
  MPI_Pcontrol(0);
  const double is_off = now();
  double is_on = 0, end = 0;
  REFRAIN_LOOP_BEGIN("step");
  for (int i = 0; i < 10; ++i) {
    REFRAIN_ITERATION_BEGIN();
    if (i == 4) {
      is_on = now();
      MPI_Pcontrol(1);
      end = now();
    }
    REFRAIN_REGION_BEGIN("phase");
    if (i < 4) swap_off(1, 10), spin_off(0.02);
    else swap_on(1, 10), spin_on(0.02);
    REFRAIN_REGION_END("phase");
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  print_stopped(is_on - is_off, end - begin);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  peer = 1 - rank;
  const char* mode = argc > 1 ? argv[1] : "";
  if (strcmp(mode, "times") == 0) times();
  else if (strcmp(mode, "requests") == 0) requests(atoi(argv[2]));
  else if (strcmp(mode, "iterations") == 0) iterations();
  else if (strcmp(mode, "warm_up") == 0) warm_up();
  else if (strcmp(mode, "faults") == 0) faults();
  else if (strcmp(mode, "threads") == 0) threads();
  else if (strcmp(mode, "ends_stopped") == 0) swap_on(1, 10), MPI_Pcontrol(0), swap_off(1, 10), spin_off(0.1);
  else return 2;
  MPI_Finalize();
  return 0;
}

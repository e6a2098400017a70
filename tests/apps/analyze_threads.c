/* A first thread that computes alone, then together with another one, again and again:
     analyze_threads openmp|uneven|pthread|alone STEPS SERIAL PARALLEL
   so many seconds by the wall clock in each step; uneven: the other thread has a quarter of the work. Prints the CPU
   time of the first thread where it computes alone, and of the other one where it has work, and for how long the other
   one was ready to run and had no core, as JSON. */
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATH __attribute__((noinline, noclone))

static double parallel_s, serial_cpu, worker_cpu, worker_waited;
static int steps;

static double read_clock(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static double cpu(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
/* As the kernel counts it, since the thread began. */
static double waited(void) {
  unsigned long long ran = 0, ready = 0;
  FILE* file = fopen("/proc/thread-self/schedstat", "r");
  if (!file) return 0;
  if (fscanf(file, "%llu %llu", &ran, &ready) != 2) ready = 0;
  fclose(file);
  return (double)ready * 1e-9;
}
PATH static void work_for(double seconds) {
  volatile double sink = 0;
  const double end = read_clock(CLOCK_MONOTONIC) + seconds;
  while (read_clock(CLOCK_MONOTONIC) < end)
    for (int i = 0; i < 500; ++i) sink += i;
}
PATH static void serial_part(double seconds) {
  const double begin = cpu();
  work_for(seconds);
  serial_cpu += cpu() - begin;
}
PATH static void parallel_part(void) {
#pragma omp parallel num_threads(2)
  {
    const double begin = cpu();
    work_for(parallel_s);
    if (omp_get_thread_num() == 1) {
      worker_cpu += cpu() - begin;
      worker_waited = waited();
    }
  }
}
PATH static void uneven_part(void) {
#pragma omp parallel num_threads(2)
  {
    work_for(omp_get_thread_num() == 1 ? 0.25 * parallel_s : parallel_s);
#pragma omp barrier
  }
}
static void* other_thread(void* unused) {
  const double begin = cpu();
  for (int step = 0; step < steps; ++step) work_for(parallel_s);
  worker_cpu += cpu() - begin;
  worker_waited = waited();
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  steps = atoi(argv[2]);
  const double serial_s = atof(argv[3]);
  parallel_s = atof(argv[4]);
  pthread_t other;
  const int has_other = strcmp(argv[1], "pthread") == 0;
  if (has_other) pthread_create(&other, NULL, other_thread, NULL);
  for (int step = 0; step < steps; ++step) {
    serial_part(serial_s);
    if (strcmp(argv[1], "openmp") == 0) parallel_part();
    if (strcmp(argv[1], "uneven") == 0) uneven_part();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (has_other) pthread_join(other, NULL);
  printf("{\"serial\": %.9f, \"worker\": %.9f, \"waited\": %.9f}\n", serial_cpu, worker_cpu, worker_waited);
  MPI_Finalize();
  return 0;
}

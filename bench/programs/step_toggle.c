/* Measures the cost of timer samples for a measured program within one run. The library is preloaded after Refrain. In
   every step of the main loop (a step ends at MPI_Allreduce) the sampling signal is unblocked or blocked at random; the
   library compares the thread's CPU times of the two kinds of steps. Disturbances of the machine affect both alike. At
   the end it prints to stderr: "steps OFF ON seconds OFF ON standard_error_of_ratio_percent E ratio_percent R"; the
   first two values are numbers of steps. The environment variable TOGGLE_SIGNAL has the number of the sampling signal.
 */
#define _GNU_SOURCE
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

enum { max_steps = 1 << 20 };
static float step_seconds[max_steps];
static unsigned char step_mode[max_steps];
static long steps = -1; /* the first step only starts the clock */
static double step_begin;
static int sampled = 1;
static unsigned long long random_state = 88172645463325252ull;

static void switch_to(int mode) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, atoi(getenv("TOGGLE_SIGNAL")));
  pthread_sigmask(mode ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
  sampled = mode;
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const double now = cpu_seconds();
  if (steps >= 0 && steps < max_steps) {
    step_seconds[steps] = (float)(now - step_begin);
    step_mode[steps] = (unsigned char)sampled;
  }
  ++steps;
  const int result = PMPI_Allreduce(in, out, count, type, op, comm);
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  switch_to((int)(random_state >> 40 & 1));
  step_begin = cpu_seconds();
  return result;
}

static int by_value(const void* a, const void* b) {
  const float x = *(const float*)a, y = *(const float*)b;
  return (x > y) - (x < y);
}

/* Returns the mean of the middle 80 % of the values, and stores their number and the variance of the mean. */
static double trimmed_mean(int mode, long* count, double* variance) {
  static float values[max_steps];
  long n = 0;
  for (long i = 0; i < steps && i < max_steps; ++i)
    if (step_mode[i] == mode) values[n++] = step_seconds[i];
  qsort(values, (size_t)n, sizeof *values, by_value);
  const long cut = n / 10;
  double sum = 0, squares = 0;
  for (long i = cut; i < n - cut; ++i) sum += values[i];
  const double mean = sum / (double)(n - 2 * cut);
  for (long i = 0; i < n; ++i) { /* winsorized */
    const double v = values[i < cut ? cut : i >= n - cut ? n - cut - 1 : i];
    squares += (v - mean) * (v - mean);
  }
  *variance = squares / (double)n / (0.64 * (double)n);
  *count = n;
  return mean;
}

__attribute__((destructor)) static void print_result(void) {
  if (steps < 10) return;
  long off_count, on_count;
  double off_variance, on_variance;
  const double off = trimmed_mean(0, &off_count, &off_variance), on = trimmed_mean(1, &on_count, &on_variance);
  fprintf(stderr, "steps %ld %ld seconds %.6f %.6f standard_error_of_ratio_percent %.4f ratio_percent %.4f\n",
          off_count, on_count, off, on, 100 * sqrt(off_variance + on_variance) / off, 100 * (on / off - 1));
}

/* Three threads with known CPU seconds each, beside a main thread that waits for them.
 *
 *   truth_threads [mpi]
 *
 * Prints one line of JSON: CPU seconds of each worker by its own clock.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PATH __attribute__((noinline, noclone))

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
PATH static double spin(double s) {
  static __thread volatile double sink;
  double now;
  do
    for (int i = 0; i < 5000; ++i) sink += i;
  while ((now = cpu()) < s);
  return now;
}
static double spent[3];
PATH static void* work_short(void* out) {
  *(double*)out = spin(0.4);
  return NULL;
}
PATH static void* work_medium(void* out) {
  *(double*)out = spin(0.8);
  return NULL;
}
PATH static void* work_long(void* out) {
  *(double*)out = spin(1.6);
  return NULL;
}

int main(int argc, char** argv) {
  void* (*work[3])(void*) = {work_short, work_medium, work_long};
  pthread_t threads[3];
  int with_mpi = argc > 1 && !strcmp(argv[1], "mpi"), provided;
  if (with_mpi) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work[i], &spent[i]);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  printf("{\"work_short\": %.9f, \"work_medium\": %.9f, \"work_long\": %.9f}\n", spent[0], spent[1], spent[2]);
  if (with_mpi) MPI_Finalize();
  return 0;
}

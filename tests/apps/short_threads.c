/* Work that is never measured for long at a stretch: twice as much in second_part as in first_part.
 *
 *   short_threads threads COUNT   each of COUNT threads, one after the other, runs 4 ms of first_part, then 8 ms of
 * second_part short_threads stops COUNT     the main thread does the same, and stops and resumes the measurement in
 * between short_threads keys COUNT      each thread makes calls of MPI_Type_size: 1 itself, 2 in destructors of its
 * keys
 *
 * Prints one line of JSON: CPU seconds of both parts, and how many calls there were.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATH __attribute__((noinline, noclone))

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static volatile double sink;
static double seconds[2];
PATH static void first_part(void) {
  const double begin = cpu();
  do
    for (int i = 0; i < 1000; ++i) sink += i;
  while (cpu() < begin + 0.004);
  seconds[0] += cpu() - begin;
}
PATH static void second_part(void) { /* not the same code: the compiler would make one function of both */
  const double begin = cpu();
  do
    for (int i = 0; i < 1000; ++i) sink -= i;
  while (cpu() < begin + 0.008);
  seconds[1] += cpu() - begin;
}
static void* both(void* unused) {
  first_part();
  second_part();
  return unused;
}

static long calls;
static void call(void) {
  int size;
  MPI_Type_size(MPI_INT, &size);
  ++calls;
}
static pthread_key_t keys[2];
static void destroy(void* again) {
  call();
  /* The destructor of the second key wants to be called once more. */
  if (again == &keys[1]) pthread_setspecific(keys[1], &calls);
}
static void* with_keys(void* unused) {
  call();
  pthread_setspecific(keys[1], &keys[1]);
  return unused;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  const char* mode = argc > 2 ? argv[1] : "";
  const int count = argc > 2 ? atoi(argv[2]) : 0;
  for (int i = 0; i < 2; ++i) pthread_key_create(&keys[i], destroy);
  for (int i = 0; i < count; ++i) {
    pthread_t thread;
    if (strcmp(mode, "stops") == 0) {
      both(NULL);
      MPI_Pcontrol(0);
      MPI_Pcontrol(1);
      continue;
    }
    pthread_create(&thread, NULL, strcmp(mode, "keys") == 0 ? with_keys : both, NULL);
    pthread_join(thread, NULL);
  }
  printf("{\"first_part\": %.9f, \"second_part\": %.9f, \"calls\": %ld}\n", seconds[0], seconds[1], calls);
  MPI_Finalize();
  return 0;
}

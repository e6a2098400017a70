/* resources WAY [COUNT]: a program whose environment gives it little (resources.py). It marks ten iterations of a loop,
   works in them, and says what it has found.

   plain         nothing else
   threads N     N threads, four at a time, which do next to nothing; says how memory, descriptors and mappings have
   grown from the first tenth of them to the end */

#include <dirent.h>
#include <pthread.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static volatile double sum;
__attribute__((noinline)) static void work(double seconds) {
  const double end = now(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (now(CLOCK_THREAD_CPUTIME_ID) < end)
    for (int i = 1; i < 1000; ++i) sum += 1.0 / i;
}

static void* short_life(void* unused) {
  sum += 1;
  return unused;
}

typedef struct {
  long kib, mappings, descriptors;
} Usage;

static Usage usage(void) {
  Usage result = {0, 0, 0};
  long pages, resident;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file && fscanf(file, "%ld %ld", &pages, &resident) == 2) result.kib = resident * (sysconf(_SC_PAGESIZE) / 1024);
  if (file) fclose(file);
  file = fopen("/proc/self/maps", "r");
  for (int c; file && (c = getc(file)) != EOF;) result.mappings += c == '\n';
  if (file) fclose(file);
  DIR* directory = opendir("/proc/self/fd");
  while (directory && readdir(directory)) ++result.descriptors;
  if (directory) closedir(directory);
  return result;
}

static void threads(long count) {
  Usage before = usage();
  for (long i = 0; i < count; i += 4) {
    pthread_t thread[4];
    for (int k = 0; k < 4; ++k)
      if (pthread_create(&thread[k], NULL, short_life, NULL)) abort();
    for (int k = 0; k < 4; ++k) pthread_join(thread[k], NULL);
    if (i / 4 == count / 40) before = usage();
  }
  const Usage after = usage();
  printf("{\"kib\": %ld, \"mappings\": %ld, \"descriptors\": %ld}\n", after.kib - before.kib,
         after.mappings - before.mappings, after.descriptors - before.descriptors);
}

int main(int argc, char** argv) {
  REFRAIN_LOOP_BEGIN("loop");
  for (int i = 0; i < 10; ++i) {
    REFRAIN_ITERATION_BEGIN();
    work(0.005);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  if (argc > 2 && !strcmp(argv[1], "threads")) threads(atol(argv[2]));
  puts("as without Refrain");
  return 6;
}

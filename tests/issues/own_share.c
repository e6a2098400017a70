/* What Refrain takes of what the program needs.
 *   own_share locked THREADS before|after   locks its memory before or after the threads are there; prints the resident
 *                                           set in KiB, or "no" where it may not lock
 *   own_share descriptors THREADS FILES     prints how many of the files it could open beside its threads */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_barrier_t working, measured;

static void* work(void* unused) {
  for (volatile int i = 0; i < 200000; i++) {
  }
  pthread_barrier_wait(&working);
  pthread_barrier_wait(&measured);
  return unused;
}

static int lock(void) {
  if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0) return 1;
  puts("no");
  return 0;
}

static long resident_kib(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%*d %ld", &pages) != 1) exit(3);
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int opened(int wanted) {
  int count = 0;
  while (count < wanted && open("/dev/null", O_RDONLY) >= 0) count++;
  return count;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int threads = atoi(argv[2]), is_locked = strcmp(argv[1], "locked") == 0;
  if (is_locked && strcmp(argv[3], "before") == 0 && !lock()) return 0;
  pthread_t thread[1000];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 << 10);
  pthread_barrier_init(&working, NULL, (unsigned)threads + 1);
  pthread_barrier_init(&measured, NULL, (unsigned)threads + 1);
  for (int i = 0; i < threads; i++)
    if (pthread_create(&thread[i], &small, work, NULL)) return 3;
  pthread_barrier_wait(&working);
  if (is_locked && strcmp(argv[3], "after") == 0 && !lock()) return 0;
  if (is_locked) printf("%ld\n", resident_kib());
  else printf("%d\n", opened(atoi(argv[3])));
  pthread_barrier_wait(&measured);
  for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
  return 0;
}

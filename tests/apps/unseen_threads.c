/* Two threads that are made by clone, past pthread_create, and work beside the first one. Prints the CPU seconds of the
   two and of all. Usage: unseen_threads SECONDS */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double seconds;
static volatile double used[2];
static volatile int done[2];

static double cpu(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
__attribute__((noinline)) static double work(void) {
  const double begin = cpu(CLOCK_THREAD_CPUTIME_ID);
  while (cpu(CLOCK_THREAD_CPUTIME_ID) - begin < seconds) {
  }
  return cpu(CLOCK_THREAD_CPUTIME_ID) - begin;
}
static int unseen(void* number) {
  const long i = (long)number;
  used[i] = work();
  done[i] = 1;
  syscall(SYS_exit, 0);
  return 0;
}

int main(int argc, char** argv) {
  const size_t size = 1 << 20;
  seconds = argc > 1 ? atof(argv[1]) : 0.3;
  for (long i = 0; i < 2; ++i) {
    char* stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    clone(unseen, stack + size, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
          (void*)i);
  }
  work();
  while (!done[0] || !done[1]) usleep(1000);
  printf("%.4f %.4f\n", used[0] + used[1], cpu(CLOCK_PROCESS_CPUTIME_ID));
  return 0;
}

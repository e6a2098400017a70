/* Signal handlers run while the program ends, and look at errno again and again. They say once that they have looked,
   and once if it was not what they had set. */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int has_returned, has_looked, has_changed;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void say(volatile int* said, const char* line, size_t size) {
  if (*said) return;
  *said = 1;
  if (write(1, line, size) < 0) _exit(1);
}

static void look(int signal) {
  const int before = errno;
  (void)signal;
  errno = 12345;
  for (const double end = now() + 0.002; now() < end;) {
    if (*(volatile int*)&errno == 12345) continue;
    say(&has_changed, "changed\n", 8);
    errno = 12345;
  }
  if (has_returned) say(&has_looked, "looked\n", 7);
  errno = before;
}

int main(void) {
  const struct itimerval often = {{0, 2500}, {0, 2500}};
  signal(SIGALRM, look);
  setitimer(ITIMER_REAL, &often, NULL);
  for (const double end = now() + 0.1; now() < end;) {
  }
  has_returned = 1;
  return 0;
}

/* Never calls MPI: spends CPU_SECONDS in work(), prints them and returns CODE; `exit` and `_exit` leave from below
 * main.
 *
 *   truth_no_mpi CPU_SECONDS CODE [exit|_exit]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static volatile double sink;
__attribute__((noinline, noclone)) static double work(double s) {
  double begin = cpu(), now;
  do
    for (int i = 0; i < 5000; ++i) sink += i;
  while ((now = cpu()) < begin + s);
  return now - begin;
}

int main(int argc, char** argv) {
  double budget = argc > 1 ? atof(argv[1]) : 0;
  int code = argc > 2 ? atoi(argv[2]) : 0;
  double spent = work(budget);
  if (argc > 4) printf("%.9f\n", spent);
  puts("done");
  fflush(stdout);
  if (argc > 3 && !strcmp(argv[3], "exit")) exit(code);
  if (argc > 3 && !strcmp(argv[3], "_exit")) _exit(code);
  return code;
}

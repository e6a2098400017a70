/* A marked loop without MPI, or with an MPI that is never initialized (WITH_MPI): ITERATIONS of DURATION microseconds
   each. Prints the peak of the resident set in KiB after the first ten thousand of them and after all. Usage:
   iterations_serial ITERATIONS DURATION   Exit status 3: a mark has changed errno. */
#ifdef WITH_MPI
#include <mpi.h>
#endif
#include <errno.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static long peak_kib(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

int main(int argc, char** argv) {
  const long iterations = argc > 1 ? atol(argv[1]) : 1000;
  const double duration = argc > 2 ? atof(argv[2]) : 0;
  long early = 0;
#ifdef WITH_MPI
  int version, subversion;
  MPI_Get_version(&version, &subversion);
#endif
  int errno_kept = 1;
  REFRAIN_LOOP_BEGIN("step");
  for (long i = 0; i < iterations; ++i) {
    REFRAIN_ITERATION_BEGIN();
    for (const double end = now_us() + duration; now_us() < end;) {
    }
    errno = 1234;
    REFRAIN_ITERATION_END();
    errno_kept &= errno == 1234;
    if (i == 10000) early = peak_kib();
  }
  REFRAIN_LOOP_END();
  printf("%ld %ld\n", early, peak_kib());
  return errno_kept ? 0 : 3;
}

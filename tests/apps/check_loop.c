/* A marked loop: each iteration computes for so long, by the thread's own CPU clock.
   Usage: check_loop ITERATIONS MICROSECONDS */
#include <refrain/refrain.h>
#include <stdlib.h>
#include <time.h>

static double cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static volatile double sink;

__attribute__((noinline)) static void relax(double seconds) {
  for (const double end = cpu_now() + seconds; cpu_now() < end;)
    for (int i = 0; i < 300; ++i) sink += 1;
}

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? atoi(argv[1]) : 100;
  const double seconds = (argc > 2 ? atof(argv[2]) : 1000) * 1e-6;
  REFRAIN_LOOP_BEGIN("step");
  for (int i = 0; i < iterations; ++i) {
    REFRAIN_ITERATION_BEGIN();
    relax(seconds);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  return 0;
}

/* A marked loop whose iterations compute for so long: a cause is planted by the wall clock.
   Usage: planted_loop KIND ITERATIONS MICROSECONDS
     even       all the same
     drift      the last one takes twice as long as the first, and those between as much more
     outlier    every 25th takes ten times as long
     first      the first one takes twenty times as long */
#include <refrain/refrain.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static volatile double sink;
static void work_until(double end) {
  while (now() < end)
    for (int i = 0; i < 300; ++i) sink += 1;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const char* kind = argv[1];
  const int iterations = atoi(argv[2]);
  const double seconds = atof(argv[3]) * 1e-6;
  REFRAIN_LOOP_BEGIN("step");
  double begin = now();
  for (int i = 0; i < iterations; ++i) {
    REFRAIN_ITERATION_BEGIN();
    double factor = 1;
    if (strcmp(kind, "drift") == 0) factor = 1 + (double)i / (iterations - 1);
    if (strcmp(kind, "outlier") == 0 && i % 25 == 24) factor = 10;
    if (strcmp(kind, "first") == 0 && i == 0) factor = 20;
    /* From the planned begin on, so that being late does not add up. */
    begin += seconds * factor;
    work_until(begin);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  return 0;
}

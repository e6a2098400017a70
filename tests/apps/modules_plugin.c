/* A library to load and unload. All builds of it have the same layout; they differ in the name of the function that
   works, INNER, and of the region that it marks, REGION. */
#include <refrain/refrain.h>

double plugin_work(double n);

static __attribute__((noinline)) double INNER(double n) {
  volatile double sum = 0;
  REFRAIN_REGION_BEGIN(REGION);
  for (double i = 0; i < n; ++i) sum += i;
  REFRAIN_REGION_END(REGION);
  return sum;
}

double plugin_work(double n) { return INNER(n) + 1; }

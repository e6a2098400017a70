/* What the same_results programs compute: numbers in which a change of one bit, or a lost one, grows until it shows. */
#include <math.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Chaotic in double and long double, with sums of very different sizes. */
static inline double chaos(double x, long steps) {
  double sum = 0;
  for (long i = 0; i < steps; ++i) {
    x = 3.999 * x * (1 - x);
    sum += sqrt(x) * 1e8 + x / 3;
  }
  return sum + x;
}
static inline long double long_chaos(long double x, long steps) {
  for (long i = 0; i < steps; ++i) x = 3.9999L * x * (1 - x);
  return x;
}

#ifdef __cplusplus
}
#endif

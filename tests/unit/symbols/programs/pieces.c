/* A function that saves registers, passes arguments on the stack and frees it again: many rows in the unwind tables.
 * And one of which the compiler puts the unlikely part elsewhere, with an entry of its own. */
#include <stdio.h>

__attribute__((noinline)) static double wide(int n, int a, int b, int c, int d, int e, int f, int g, int h) {
  double sum = 0;
  for (int i = 1; i < n; i++) sum += (a + b + c + d + e + f + g + h) / (double)i;
  return sum;
}

__attribute__((noinline)) double rows(int n, double* sink) {
  double sum = wide(n, 1, 2, 3, 4, 5, 6, 7, 8);
  for (int i = 0; i < n; i++) sink[i & 15] += sum * i;
  return sum + wide(2 * n, n, 2, 3, 4, 5, 6, 7, 8);
}

__attribute__((cold, noinline)) static void complain(int n, double x) {
  fprintf(stderr, "negative: %d after %f\n", n, x);
}

__attribute__((noinline)) int risky(int n, double* sink) {
  double sum = rows(n, sink);
  for (int i = 0; i < n; i++) {
    if (sink[i & 15] < 0) {
      complain(n, sum);
      sum += sink[(i + 1) & 15];
      complain(i, sum);
    }
    sum += sink[i & 7] * i;
  }
  return (int)sum + n;
}

int main(int argc, char** argv) {
  static double sink[16];
  (void)argv;
  return risky(argc, sink) == 7;
}

/* Three levels of inlining, a call site in the innermost, a static function and a function pointer call. */
#include <stdio.h>
#include <stdlib.h>
volatile double sink;
__attribute__((noinline)) void work(int n) {
  for (int i = 0; i < n; ++i) sink += i;
}
static inline __attribute__((always_inline)) void innermost(int n) {
  work(n);
  sink += 1;
}
static inline __attribute__((always_inline)) void middle(int n) {
  sink += 2;
  innermost(n + 1);
  sink += 3;
}
static inline __attribute__((always_inline)) void outer(int n) {
  middle(n * 2);
  if (n > 2) middle(n * 3);
}
__attribute__((noinline, noclone)) static int hidden(int n) {
  outer(n);
  sink += 5;
  return n + 1;
}
int main(int argc, char** argv) {
  int (*volatile call)(int) = hidden;
  int n = argc > 1 ? atoi(argv[1]) : 1;
  outer(n);
  printf("%d\n", call(n));
  return 0;
}

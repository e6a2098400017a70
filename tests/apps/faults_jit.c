/* Generated code without unwind tables and without a frame pointer, in which most of the time is spent.
 *
 *   faults_jit CPU_SECONDS
 *
 * The generated function counts down in a loop; it is called with rbp set to a value that is no frame, as compilers for
 * the heap do when they use it as an ordinary register. A second function of the same page calls back into C.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* long count(long n): push rbp; push rbx; mov rbp, 1; xor eax, eax; L: add rax, rdi; dec rdi; jnz L; pop rbx; pop rbp;
 * ret */
static const unsigned char count_code[] = {0x55, 0x53, 0x48, 0xc7, 0xc5, 1,    0,    0,    0,    0x31, 0xc0,
                                           0x48, 0x01, 0xf8, 0x48, 0xff, 0xcf, 0x75, 0xf8, 0x5b, 0x5d, 0xc3};
/* long through(long n, long (*f)(long)): push rbp; mov rbp, 1; call rsi; pop rbp; ret */
static const unsigned char through_code[] = {0x55, 0x48, 0xc7, 0xc5, 1, 0, 0, 0, 0xff, 0xd6, 0x5d, 0xc3};

static volatile double sink;
__attribute__((noinline, noclone)) static long below_generated_code(long n) {
  for (long i = 0; i < n; ++i) sink += 1;
  return n;
}
__attribute__((noinline, noclone)) static long above_generated_code(long (*count)(long),
                                                                    long (*through)(long, long (*)(long))) {
  return count(1000000) + through(100000, below_generated_code);
}

int main(int argc, char** argv) {
  double budget = argc > 1 ? atof(argv[1]) : 0.5, begin = cpu();
  unsigned char* page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 2;
  memcpy(page, count_code, sizeof count_code);
  memcpy(page + 256, through_code, sizeof through_code);
  mprotect(page, 4096, PROT_READ | PROT_EXEC);
  long (*count)(long) = (long (*)(long))(uintptr_t)page;
  long (*through)(long, long (*)(long)) = (long (*)(long, long (*)(long)))(uintptr_t)(page + 256);
  long wrong = 0;
  while (cpu() < begin + budget) wrong += above_generated_code(count, through) != 500000500000 + 100000;
  printf("wrong results: %ld\n", wrong);
  return 0;
}

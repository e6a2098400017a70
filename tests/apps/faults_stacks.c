/* Stacks with no room to spare, and what lies on them.
 *
 *   faults_stacks alternate|thread|fiber|overflow|returns
 *
 * Below each small stack lie bytes that nobody may write. It says what it found.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PATH __attribute__((noinline, noclone))

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static volatile double sink;
PATH void work(double s) {
  double end = cpu() + s;
  do
    for (int i = 0; i < 5000; ++i) sink += i;
  while (cpu() < end);
}

enum { guard = 64 << 10, canary = 0x5a };
static char* memory;
static char* make_stack(size_t size) {
  memory = aligned_alloc(4096, guard + size);
  memset(memory, canary, guard);
  return memory + guard;
}
static size_t overwritten(void) {
  size_t count = 0;
  for (size_t i = 0; i < guard; ++i) count += memory[i] != canary;
  return count;
}
/* What the kernel needs for its frame comes first, so that the program works by itself on every processor. */
static size_t small(size_t usual) {
  size_t frame = getauxval(AT_MINSIGSTKSZ);
  return usual > frame + 4608 ? usual : (frame + 4608 + 4095) & ~(size_t)4095;
}

PATH void on_signal(int signal) {
  volatile char locals[2048];
  locals[0] = locals[sizeof locals - 1] = (char)signal;
  work(0.03);
  locals[1] = locals[0];
}
static void alternate(void) {
  size_t size = small(8192);
  stack_t stack = {.ss_sp = make_stack(size), .ss_size = size};
  if (sigaltstack(&stack, NULL)) perror("sigaltstack");
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 20; ++i) raise(SIGUSR1);
  work(0.3);
}

/* Uses the stack up to its last kilobyte. */
PATH void fill_stack(const char* low, double seconds) {
  volatile char some[200];
  some[0] = some[sizeof some - 1] = 1;
  if ((const char*)some - low < 1300) work(seconds);
  else fill_stack(low, seconds);
  some[1] = 2;
}
static void* in_thread(void* low) {
  fill_stack(low, 0.5);
  return NULL;
}
static void thread(void) {
  size_t size = 16 << 10;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  while (pthread_attr_setstack(&attributes, make_stack(size), size)) size += 4096;
  pthread_t made;
  int result = pthread_create(&made, &attributes, in_thread, memory + guard);
  if (result) printf("no thread: %s\n", strerror(result));
  else pthread_join(made, NULL);
}

static ucontext_t outside, context;
static void in_fiber(void) { fill_stack(memory + guard, 0.5); }
static void sum_up(int a, int b, int c, int d, int e, int f, int g, int h) {
  printf("arguments %d %d %d %d %d %d %d %d\n", a, b, c, d, e, f, g, h);
}
static void fiber(void) {
  size_t size = 8192;
  getcontext(&context);
  context.uc_stack.ss_sp = make_stack(size);
  context.uc_stack.ss_size = size;
  context.uc_link = &outside;
  makecontext(&context, in_fiber, 0);
  swapcontext(&outside, &context);
  size_t found = overwritten();
  getcontext(&context);
  context.uc_stack.ss_size = 256 << 10;
  context.uc_stack.ss_sp = malloc(context.uc_stack.ss_size);
  context.uc_link = &outside;
  makecontext(&context, (void (*)(void))sum_up, 8, 1, 2, 3, 4, 5, 6, 7, 8);
  swapcontext(&outside, &context);
  printf("%zu\n", found);
  work(0.3);
}

static sigjmp_buf back;
static volatile int overflows;
static void on_overflow(int signal) {
  (void)signal;
  ++overflows;
  siglongjmp(back, 1);
}
PATH int recurse(int depth) {
  volatile char some[1000];
  some[0] = (char)depth;
  sink += some[0];
  return recurse(depth + 1) + some[0];
}
static void overflow_once(void) {
  if (sigsetjmp(back, 1) == 0) printf("%d\n", recurse(0));
}
static void* overflow(void* nothing) {
  static char alternate_stack[64 << 10];
  stack_t stack = {.ss_sp = alternate_stack, .ss_size = sizeof alternate_stack};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
  for (int i = 0; i < 50; ++i) {
    overflow_once();
    work(0.005);
  }
  return nothing;
}

/* Every return address that is on the stack, with what it was when its function began. */
static struct {
  void* const* slot;
  void* value;
} shadow[200];
static volatile long changed, compared;
PATH void compare(int depth) {
  double end = cpu() + 0.02;
  do
    for (int i = 0; i < depth; ++i, ++compared) changed += *(void* volatile const*)shadow[i].slot != shadow[i].value;
  while (cpu() < end);
}
__attribute__((noinline, noclone, optimize("no-omit-frame-pointer"))) void go_deeper(int depth, int limit) {
  void* const* frame = __builtin_frame_address(0);
  shadow[depth].slot = frame + 1;
  shadow[depth].value = frame[1];
  if (depth + 1 < limit) go_deeper(depth + 1, limit);
  else compare(limit);
  changed += *(void* volatile const*)(frame + 1) != shadow[depth].value;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  work(0.001); /* the dynamic linker, when it binds a function, needs more stack than the function */
  if (!strcmp(how, "alternate")) alternate();
  else if (!strcmp(how, "thread")) thread();
  else if (!strcmp(how, "fiber")) fiber();
  else if (!strcmp(how, "overflow")) {
    overflow(NULL);
    pthread_t made;
    pthread_create(&made, NULL, overflow, NULL);
    pthread_join(made, NULL);
    printf("overflows %d\n", overflows);
    return 5;
  } else if (!strcmp(how, "returns")) {
    for (int limit = 2; limit < 200; limit += 7) go_deeper(0, limit);
    printf("changed %ld, compared %d\n", changed, compared > 0);
    return 5;
  } else {
    return 2;
  }
  printf("overwritten %zu\n", overwritten());
  return 5;
}

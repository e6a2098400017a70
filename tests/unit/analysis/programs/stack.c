/* Prints its own call stacks: before main, in main, in a thread and at exit. A line per frame, innermost first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
volatile int sink;
__attribute__((noinline)) void show(const char* when) {
  void* frames[64];
  int n = backtrace(frames, 64);
  for (int i = 0; i < n; ++i) {
    Dl_info module;
    if (dladdr(frames[i], &module))
      printf("%s %s %lx\n", when, module.dli_fname, (unsigned long)((char*)frames[i] - (char*)module.dli_fbase));
  }
  sink += n;
}
__attribute__((constructor)) void early(void) {
  show("early");
  sink += 1;
}
__attribute__((noinline)) void leave(void) {
  show("exit");
  sink += 2;
}
__attribute__((noinline)) void* body(void* unused) {
  show("thread");
  sink += 3;
  return unused;
}
int main(int argc, char** argv) {
  pthread_t thread;
  atexit(leave);
  show("main");
  if (pthread_create(&thread, NULL, body, argv)) return 1;
  pthread_join(thread, NULL);
  return argc - 1;
}

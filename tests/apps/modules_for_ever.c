/* Loads and unloads libraries, and works in them and in functions of its own.

   modules_for_ever rounds N LIBRARY...    one after the other in turn, N times in all
   modules_for_ever storm SECONDS LIBRARY...  each in a thread of its own, while the main thread works
   modules_for_ever names N LIBRARY           N times under another name each, links beside the library

   Prints how often each was loaded, and the growth of the resident set after the first quarter. */
#include <dlfcn.h>
#include <pthread.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile double sink;
static __attribute__((noinline)) void own_work(double n) {
  REFRAIN_REGION_BEGIN("own");
  for (double i = 0; i < n; ++i) sink += i;
  REFRAIN_REGION_END("own");
}

static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2) exit(4);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void visit(const char* path, double n) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  double (*work)(double) = library ? (double (*)(double))dlsym(library, "plugin_work") : NULL;
  if (!work) exit(3);
  sink += work(n);
  dlclose(library);
}

static double end;
static void* storm(void* path) {
  long count = 0;
  for (; now() < end; ++count) visit(path, 1e4);
  return (void*)count;
}

int main(int argc, char** argv) {
  if (argc < 4 || argc > 9) return 2;
  char** libraries = argv + 3;
  const int count = argc - 3;
  long loads = 0, early = resident_kib();
  if (strcmp(argv[1], "rounds") == 0) {
    const long rounds = atol(argv[2]);
    for (; loads < rounds; ++loads) {
      if (loads == rounds / 4) early = resident_kib();
      visit(libraries[loads % count], 100);
      own_work(100);
    }
  } else if (strcmp(argv[1], "names") == 0) {
    for (const long names = atol(argv[2]); loads < names; ++loads) {
      char name[1024];
      snprintf(name, sizeof name, "%s.%ld", libraries[0], loads);
      if (link(libraries[0], name) != 0) exit(5);
      visit(name, 100);
      unlink(name);
    }
    own_work(100);
  } else {
    const double begin = now(), seconds = atof(argv[2]);
    end = begin + seconds;
    pthread_t threads[8];
    for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, storm, libraries[i]);
    while (now() < begin + seconds / 4) own_work(1e4);
    early = resident_kib();
    while (now() < end) own_work(1e4);
    for (int i = 0; i < count; ++i) {
      void* result;
      pthread_join(threads[i], &result);
      loads += (long)result;
    }
  }
  fprintf(stderr, "loads %ld grown_kib %ld\n", loads, resident_kib() - early);
  puts("done");
  return 0;
}

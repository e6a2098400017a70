/* A program that knows nothing of MPI and loads a plug-in that does, locally, as an interpreter loads its modules.
 *
 *     mpi_late plugin.so [arguments of the plug-in's main]
 *
 * LATE_WORK: seconds of work before that. LATE_ITERATIONS: it is a marked loop of so many iterations. LATE_FLAGS:
 * "deepbind" or "dlmopen", how the plug-in is loaded. LATE_THREAD: a thread that is there before the plug-in runs its
 * plugin_helper.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <refrain/refrain.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile double x;

__attribute__((noinline)) void work_before(double seconds) {
  const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
  while (clock() < end)
    for (int k = 0; k < 10000; ++k) x += k;
}

__attribute__((noinline)) void iterate_before(double seconds, int iterations) {
  REFRAIN_LOOP_BEGIN("before_mpi");
  for (int i = 0; i < iterations; ++i) {
    REFRAIN_ITERATION_BEGIN();
    work_before(seconds / iterations);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
}

static sem_t plugin_is_there;
static void (*helper)(void);

static void* run_helper(void* unused) {
  (void)unused;
  sem_wait(&plugin_is_there);
  helper();
  return NULL;
}

static void* load(const char* plugin) {
  const char* flags = getenv("LATE_FLAGS");
  if (flags && strcmp(flags, "dlmopen") == 0) return dlmopen(LM_ID_NEWLM, plugin, RTLD_NOW);
  return dlopen(plugin, RTLD_NOW | RTLD_LOCAL | (flags && strcmp(flags, "deepbind") == 0 ? RTLD_DEEPBIND : 0));
}

int main(int argc, char** argv) {
  const double seconds = getenv("LATE_WORK") ? atof(getenv("LATE_WORK")) : 0;
  if (getenv("LATE_ITERATIONS")) iterate_before(seconds, atoi(getenv("LATE_ITERATIONS")));
  else work_before(seconds);
  pthread_t thread;
  sem_init(&plugin_is_there, 0, 0);
  if (getenv("LATE_THREAD")) pthread_create(&thread, NULL, run_helper, NULL);
  void* plugin = argc > 1 ? load(argv[1]) : NULL;
  int (*plugin_main)(int, char**) = plugin ? (int (*)(int, char**))dlsym(plugin, "plugin_main") : NULL;
  if (!plugin_main) {
    fprintf(stderr, "mpi_late: %s\n", argc > 1 ? dlerror() : "no plug-in");
    return 7;
  }
  if (getenv("LATE_THREAD")) {
    helper = (void (*)(void))dlsym(plugin, "plugin_helper");
    sem_post(&plugin_is_there);
  }
  const int status = plugin_main(argc - 1, argv + 1);
  if (getenv("LATE_THREAD")) pthread_join(thread, NULL);
  return status;
}

/* A program that knows nothing of MPI and loads a plug-in that does, locally, as an interpreter loads its modules.
 *
 *     mpi_late plugin.so [arguments of the plug-in's main]
 *
 * LATE_WORK: seconds of work before that.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile double x;

__attribute__((noinline)) void work_before(double seconds) {
  const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
  while (clock() < end)
    for (int k = 0; k < 10000; ++k) x += k;
}

int main(int argc, char** argv) {
  if (getenv("LATE_WORK")) work_before(atof(getenv("LATE_WORK")));
  void* plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*plugin_main)(int, char**) = plugin ? (int (*)(int, char**))dlsym(plugin, "plugin_main") : NULL;
  if (!plugin_main) {
    fprintf(stderr, "mpi_late: %s\n", argc > 1 ? dlerror() : "no plug-in");
    return 7;
  }
  return plugin_main(argc - 1, argv + 1);
}

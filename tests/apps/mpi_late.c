/* A program that knows nothing of MPI and loads a plug-in that does, locally, as an interpreter loads its modules.
 *
 *     mpi_late plugin.so [arguments of the plug-in's main]
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*plugin_main)(int, char**) = plugin ? (int (*)(int, char**))dlsym(plugin, "plugin_main") : NULL;
  if (!plugin_main) {
    fprintf(stderr, "mpi_late: %s\n", argc > 1 ? dlerror() : "no plug-in");
    return 7;
  }
  return plugin_main(argc - 1, argv + 1);
}

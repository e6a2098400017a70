#pragma once
/* Finds functions of the MPI library itself, whose names a tool that is loaded before it defines too. Needs
   _GNU_SOURCE. */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

struct in_mpi_library {
  const char* name;
  void* function;
};

static int find_in_mpi_library(struct dl_phdr_info* info, size_t size, void* argument) {
  (void)size;
  struct in_mpi_library* wanted = argument;
  const char* name = strrchr(info->dlpi_name, '/');
  if (!name || strncmp(name, "/libmpi.so", 10) != 0) return 0;
  void* library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  wanted->function = library ? dlsym(library, wanted->name) : NULL;
  return 1;
}

/* Returns null if there is no MPI library or if it has no such function. */
static void* mpi_library_function(const char* name) {
  struct in_mpi_library wanted = {name, NULL};
  dl_iterate_phdr(find_in_mpi_library, &wanted);
  return wanted.function;
}

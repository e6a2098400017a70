/* CALLS MPI calls from 512 call paths, in iterations of 1,024 calls. Prints what the process holds after a tenth of
   them and at the end: resident memory in KiB, descriptors, timers, threads. Usage: soak CALLS */
#include <dirent.h>
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/programs/call_paths.h"

static long status_of(const char* name) {
  char line[256];
  long value = -1;
  FILE* file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, name, strlen(name)) == 0) value = atol(line + strlen(name));
  if (file) fclose(file);
  return value;
}

static long descriptors(void) {
  long count = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (directory && readdir(directory)) ++count;
  if (directory) closedir(directory);
  return count;
}

static long timers(void) {
  char line[256];
  long count = 0;
  FILE* file = fopen("/proc/self/timers", "r");
  while (file && fgets(line, sizeof line, file)) count += strncmp(line, "ID:", 3) == 0;
  if (file) fclose(file);
  return count;
}

static void report(const char* when) {
  printf("{\"when\": \"%s\", \"kib\": %ld, \"descriptors\": %ld, \"timers\": %ld, \"threads\": %ld}\n", when,
         status_of("VmRSS:"), descriptors(), timers(), status_of("Threads:"));
}

static void send_and_receive(void) {
  char bytes[8] = {0};
  MPI_Send(bytes, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Recv(bytes, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

CALL_PATHS(tree, send_and_receive())

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long iterations = argc > 1 ? atol(argv[1]) / 1024 : 1000;
  REFRAIN_LOOP_BEGIN("soak");
  for (long i = 0; i < iterations; ++i) {
    if (i == iterations / 10) report("early");
    REFRAIN_ITERATION_BEGIN();
    for (unsigned path = 0; path < 512; ++path) tree(path, 9);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  report("late");
  MPI_Finalize();
  return 0;
}

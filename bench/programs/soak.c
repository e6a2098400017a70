/* Makes many MPI calls from many call paths. Prints the resident memory in KiB after the first percent of the calls and
   after the last call. Usage: soak CALLS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/programs/call_paths.h"

static long resident_kib(void) {
  char line[256];
  long kib = -1;
  FILE* f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f)) sscanf(line, "VmRSS: %ld", &kib);
  if (f) fclose(f);
  return kib;
}

static void send_and_receive(void) {
  char b[8] = {0};
  MPI_Send(b, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Recv(b, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

CALL_PATHS(tree, send_and_receive())

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  long calls = argc > 1 ? atol(argv[1]) : 1000000;
  long early = -1;
  for (long i = 0; i < calls / 2; ++i) {
    tree((unsigned)i, 9);
    if (i == calls / 200) early = resident_kib();
  }
  printf("%ld %ld\n", early, resident_kib());
  MPI_Finalize();
  return 0;
}

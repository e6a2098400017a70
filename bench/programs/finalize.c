/* Measures MPI_Finalize after MPI calls from PATHS call paths on each rank. Each rank appends a line to FILE with the
   wall-clock times before and after the call, in seconds. Usage: finalize PATHS FILE */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench/programs/call_paths.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void send_one(void) {
  char b[8] = {0};
  MPI_Send(b, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

CALL_PATHS(tree, send_one())

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int paths = argc > 1 ? atoi(argv[1]) : 500, levels = 0;
  while (1 << levels < paths) ++levels;
  for (int i = 0; i < paths; ++i) tree((unsigned)i, levels);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = now();
  MPI_Finalize();
  double end = now();
  char line[64];
  int n = snprintf(line, sizeof line, "%.6f %.6f\n", begin, end);
  int fd = open(argv[2], O_WRONLY | O_APPEND | O_CREAT, 0666);
  if (fd < 0 || write(fd, line, n) != n) return 1;
  close(fd);
  return 0;
}

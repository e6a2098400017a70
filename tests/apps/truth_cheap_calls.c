/* Own overhead by difference: the same number of sends to MPI_PROC_NULL through MPI_Send, which a tool wraps, and
 * through PMPI_Send, which it does not see. Prints CPU seconds of both loops and the number of calls as JSON.
 *
 *   truth_cheap_calls CALLS
 *
 * The two loops alternate in short blocks, so that other load on the machine meets both alike.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noinline, noclone)) static double through_tool(long n, char* b) {
  double begin = cpu();
  for (long i = 0; i < n; ++i) MPI_Send(b, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  return cpu() - begin;
}
__attribute__((noinline, noclone)) static double bare(long n, char* b) {
  double begin = cpu();
  for (long i = 0; i < n; ++i) PMPI_Send(b, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  return cpu() - begin;
}

int main(int argc, char** argv) {
  enum { block = 10000 };
  char b[8] = {0};
  MPI_Init(&argc, &argv);
  long calls = argc > 1 ? atol(argv[1]) : 1000000;
  double wrapped_s = 0, bare_s = 0;
  for (long i = 0; i < calls; i += block) {
    wrapped_s += through_tool(block, b);
    bare_s += bare(block, b);
  }
  printf("{\"calls\": %ld, \"wrapped_s\": %.9f, \"bare_s\": %.9f}\n", (calls + block - 1) / block * block, wrapped_s,
         bare_s);
  MPI_Finalize();
  return 0;
}

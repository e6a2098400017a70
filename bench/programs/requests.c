/* Measures calls with N requests at once, for messages from a process to itself. Prints the name of each call and its
   time in nanoseconds, the minimum over batches. Usage: requests N [ROUNDS] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { max_requests = 1024, batch = 200, calls = 4 };
static const char* const names[calls] = {"MPI_Irecv", "MPI_Issend", "MPI_Waitall(receives)", "MPI_Waitall(sends)"};
static MPI_Request receives[max_requests], sends[max_requests];
static char in[max_requests][8], out[max_requests][8];
static double spent[calls];

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t); /* vDSO: cheap compared with the timed calls */
  return t.tv_sec * 1e9 + t.tv_nsec;
}

__attribute__((noinline)) static void exchange(int n) {
  double t[calls + 1];
  t[0] = now_ns();
  for (int i = 0; i < n; ++i) MPI_Irecv(in[i], 8, MPI_BYTE, 0, i, MPI_COMM_SELF, &receives[i]);
  t[1] = now_ns();
  for (int i = 0; i < n; ++i) MPI_Issend(out[i], 8, MPI_BYTE, 0, i, MPI_COMM_SELF, &sends[i]);
  t[2] = now_ns();
  MPI_Waitall(n, receives, MPI_STATUSES_IGNORE);
  t[3] = now_ns();
  MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);
  t[4] = now_ns();
  for (int i = 0; i < calls; ++i) spent[i] += t[i + 1] - t[i];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int n = argc > 1 ? atoi(argv[1]) : 8, rounds = argc > 2 ? atoi(argv[2]) : 400000 / n;
  double best[calls];
  for (int i = 0; i < calls; ++i) best[i] = 1e300;
  for (int done = 0; done < rounds + batch; done += batch) {
    for (int i = 0; i < calls; ++i) spent[i] = 0;
    for (int i = 0; i < batch; ++i) exchange(n);
    for (int i = 0; i < calls && done > 0; ++i) {
      const double each = spent[i] / batch / (i < 2 ? n : 1);
      if (each < best[i]) best[i] = each;
    }
  }
  for (int i = 0; i < calls; ++i) printf("%s %.1f\n", names[i], best[i]);
  MPI_Finalize();
  return 0;
}

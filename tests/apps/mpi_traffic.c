/* A few calls of each kind, whose numbers and bytes are arithmetic. Two ranks. As a program, and as a plug-in that is
 * loaded by mpi_late, which has worked for a while without MPI.
 *
 *     mpi_traffic ROUNDS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define APART __attribute__((noinline))

static volatile double x;
static char out[4096], in[4096];
static int rank, size, peer;

APART void compute(double seconds) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const double end = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec + seconds;
  do {
    for (int k = 0; k < 10000; ++k) x += k;
    clock_gettime(CLOCK_MONOTONIC, &t);
  } while ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec < end);
}

/* 2 messages a round, 100 and 200 bytes. */
APART void blocking(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    if (rank == 0) {
      MPI_Send(out, 100, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
      MPI_Recv(in, 200, MPI_CHAR, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(in, 100, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(out, 200, MPI_CHAR, peer, 2, MPI_COMM_WORLD);
    }
  }
}

/* One message of 300 bytes a round and rank. */
APART void nonblocking(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    MPI_Request request;
    MPI_Irecv(in, 300, MPI_CHAR, peer, 3, MPI_COMM_WORLD, &request);
    MPI_Send(out, 300, MPI_CHAR, peer, 3, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 10;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  peer = size == 1 ? MPI_PROC_NULL : 1 - rank; /* alone, all of it goes nowhere */
  for (int i = 0; i < (int)sizeof out; ++i) out[i] = (char)(i * 7 + rank);
  blocking(rounds);
  nonblocking(rounds);
  compute(0.2);
  long sum = 0, all = 0;
  for (int i = 0; i < 300; ++i) sum += in[i] * i;
  MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%ld\n", all);
  MPI_Finalize();
  return 0;
}

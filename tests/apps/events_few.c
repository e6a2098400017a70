/* A few calls of MPI whose events are known one by one. Two ranks. Usage: events_few */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  char out[100] = {0}, in[300];
  int rank, one = 1, sum = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    MPI_Send(out, 100, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
    MPI_Irecv(in, sizeof in, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(in, sizeof in, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, 30, MPI_CHAR, 0, 8, MPI_COMM_WORLD);
  }
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(out, 50, MPI_CHAR, 1, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0) printf("%d\n", sum);
  return 0;
}

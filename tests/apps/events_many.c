/* Many messages between two ranks, and nothing else. Usage: events_many MESSAGES */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  char byte = 0;
  int rank;
  const long messages = argc > 1 ? atol(argv[1]) : 1000;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (long i = 0; i < messages; ++i) {
    if (rank == 0) MPI_Send(&byte, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    else MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}

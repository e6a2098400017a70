/* Two ranks that wait for each other some times. */
#include <mpi.h>
#include <stdio.h>

int main(int count, char** words) {
  int rank, size;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 10; ++i) MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d of %d\n", rank, size);
  MPI_Finalize();
  return 0;
}

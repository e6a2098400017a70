/* 100 calls of MPI_Allreduce, of 3 numbers each. */
#include <mpi.h>

int main(int argc, char** argv) {
  double in[3] = {1, 2, 3}, out[3];
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 100; ++i) MPI_Allreduce(in, out, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return out[2] == 3 ? 0 : 1;
}

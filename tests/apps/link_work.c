/* What each program of link.py does, in C and in C++: the same as link_work.F90. */
#include <mpi.h>
#include <stdio.h>
#ifdef __cplusplus
extern "C"
#endif
    void
    work(void) {
  int rank, size, from, sum, all[64];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int step = 1; step <= 5; ++step) {
    int to = (rank + 1) % size, mine = 10 * step + rank;
    MPI_Sendrecv(&mine, 1, MPI_INT, to, 7, &from, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum = from;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  int result = 1000000 * size + 10000 * rank + sum;
  MPI_Gather(&result, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0)
    for (int i = 0; i < size; ++i) printf("%d\n", all[i]);
  MPI_Finalize();
}

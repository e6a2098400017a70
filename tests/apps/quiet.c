/* Iterations and stretches for some seconds. Prints how much of the communication of each phase was not its own
   (quiet_counter.c). Usage: quiet SECONDS */
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>

void next_phase(void);
int count_of_phase(int i);

static int step(int rank, int size) {
  int in = 0, more = 1;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Allreduce(&in, &more, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return more;
}

int main(int argc, char** argv) {
  double seconds = argc > 1 ? atof(argv[1]) : 1, begin;
  int rank, size, go = 1;
  MPI_Init(&argc, &argv);
  next_phase();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (begin = MPI_Wtime(); go; MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD)) {
    step(rank, size);
    go = MPI_Wtime() - begin < seconds / 2;
  }
  REFRAIN_LOOP_BEGIN("step");
  for (begin = MPI_Wtime(), go = 1; go; MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD)) {
    REFRAIN_ITERATION_BEGIN();
    step(rank, size);
    go = MPI_Wtime() - begin < seconds / 2;
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  next_phase();
  MPI_Finalize();
  printf("%d %d %d\n", count_of_phase(0), count_of_phase(1), count_of_phase(2));
  return 0;
}

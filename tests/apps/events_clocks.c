/* Two ranks that send small messages to and fro, a few at a time, for so many seconds. Usage: events_clocks SECONDS */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double end = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 1);
  for (int goes_on = 1; goes_on;) {
    goes_on = MPI_Wtime() < end;
    for (int i = 0; i < 5; ++i) {
      int number = goes_on;
      if (rank == 0) {
        MPI_Send(&number, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
        MPI_Recv(&number, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(&number, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        goes_on = number;
        MPI_Send(&number, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
      }
    }
    const struct timespec pause = {0, 1000000};
    if (rank == 0) nanosleep(&pause, NULL);
  }
  MPI_Finalize();
  return 0;
}

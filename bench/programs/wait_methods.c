/* Measures the cost of other ways to detect waiting: compares MPI_Recv of 8 bytes and MPI_Allreduce of 8 bytes without
 * changes and as changed by tools that
 *   probe      poll for the message before receiving it, and put a barrier before collective operations (FPMPI)
 *   piggyback  send a time with each message, as a separate message
 * Usage: wait_methods [REPETITIONS], on two ranks. Messages have arrived when they are received. Prints nanoseconds per
 * call, the median of 51 rounds in which the ways take turns. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { rounds = 51, ways = 5 };
static int rank;

static void send(int with_time) {
  double value = 1, time = MPI_Wtime();
  if (with_time) MPI_Send(&time, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
  MPI_Send(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
}

static void receive(int with_probe, int with_time) {
  double value, time;
  if (with_probe) {
    int flag = 0;
    while (!flag) MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
  if (with_time) MPI_Recv(&time, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Returns seconds per call. */
static double receives(int repetitions, int with_probe, int with_time) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    for (int i = 0; i < repetitions; ++i) send(with_time);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  if (rank == 1)
    for (int i = 0; i < repetitions; ++i) receive(with_probe, with_time);
  return (MPI_Wtime() - begin) / repetitions;
}

static double reductions(int repetitions, int with_barrier) {
  double value = 1, sum;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < repetitions; ++i) {
    if (with_barrier) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - begin) / repetitions;
}

static int is_less(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? atoi(argv[1]) : 200;
  static double seconds[ways][rounds];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < rounds; ++round) {
    seconds[0][round] = receives(repetitions, 0, 0);
    seconds[1][round] = receives(repetitions, 1, 0);
    seconds[2][round] = receives(repetitions, 0, 1);
    seconds[3][round] = reductions(repetitions, 0);
    seconds[4][round] = reductions(repetitions, 1);
  }
  if (rank == 1) {
    static const char* const names[ways] = {"recv", "recv_probe", "recv_piggyback", "allreduce", "allreduce_barrier"};
    for (int way = 0; way < ways; ++way) {
      qsort(seconds[way], rounds, sizeof(double), is_less);
      printf("%s %.1f\n", names[way], seconds[way][rounds / 2] * 1e9);
    }
  }
  MPI_Finalize();
  return 0;
}

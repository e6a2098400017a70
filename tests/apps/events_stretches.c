/* Collective operations of all ranks, in a program that marks no loop, or one late. Usage: events_stretches MODE
   REPETITIONS plain: on MPI_COMM_WORLD and on two others with the same members, beside operations that not all ranks
   wait in. differ: from the middle on the ranks call two operations in a different order. marked: from the middle on a
   loop is marked. Rank 0 prints how many blocking operations of all ranks there were, and at the first that differs how
   many before. */
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int operations;

static void step(int i, int rank, MPI_Comm same, MPI_Comm reversed, MPI_Comm half) {
  int one = 1, sum, other = 0, k;
  MPI_Request request;
  for (k = 0; k <= i % 3 + rank; ++k)
    MPI_Sendrecv(&one, 1, MPI_INT, rank, k, &other, 1, MPI_INT, rank, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (i % 4 == 0) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, same), ++operations;
  if (i % 4 == 1) MPI_Barrier(reversed), ++operations;
  MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD), ++operations;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "plain";
  int repetitions = argc > 2 ? atoi(argv[2]) : 100, rank, size, i, before = 0, value = 0;
  MPI_Comm same, reversed, half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &same);
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  for (i = 0; i < repetitions / 2; ++i) step(i, rank, same, reversed, half);
  if (!strcmp(mode, "marked")) REFRAIN_LOOP_BEGIN("late");
  for (; i < repetitions; ++i) {
    if (!strcmp(mode, "marked")) REFRAIN_ITERATION_BEGIN();
    if (!strcmp(mode, "differ")) {
      if (before == 0) before = operations;
      MPI_Bcast(&value, 1, MPI_INT, 0, rank == 0 ? same : MPI_COMM_WORLD);
      MPI_Bcast(&value, 1, MPI_INT, 0, rank == 0 ? MPI_COMM_WORLD : same);
      operations += 2;
    }
    step(i, rank, same, reversed, half);
    if (!strcmp(mode, "marked")) REFRAIN_ITERATION_END();
  }
  if (!strcmp(mode, "marked")) REFRAIN_LOOP_END();
  if (rank == 0) printf("%d %d\n", operations, before);
  MPI_Finalize();
  return 0;
}

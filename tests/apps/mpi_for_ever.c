/* Communicators and windows that a long run makes and frees, round after round: mpi_for_ever ROUNDS. */
#include <mpi.h>
#include <stdlib.h>

/* The first `left` ranks on one side and the others on the other: ranks have lists of members in common, not the sides.
 */
static void two_sides(MPI_Comm all, int rank, int left) {
  MPI_Comm side, inter, again, merged;
  MPI_Comm_split(all, rank < left, 0, &side);
  MPI_Intercomm_create(side, 0, all, rank < left ? left : 0, 7, &inter);
  MPI_Comm_dup(inter, &again);
  MPI_Intercomm_merge(inter, rank >= left, &merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&again);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&side);
}

int main(int argc, char** argv) {
  int rank, size;
  double memory[8] = {0}, local = 1;
  MPI_Group all;
  MPI_Comm stays, made, child, held = MPI_COMM_NULL;
  MPI_Request request;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &stays);
  MPI_Comm_group(stays, &all);
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  for (int left = 1; left < size; ++left) two_sides(made, rank, left);
  MPI_Comm_free(&made);
  for (int round = 0; round < atoi(argv[1]); ++round) {
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_dup(made, &child);
    MPI_Comm_free(&made);
    MPI_Comm_free(&child);
    /* One rank alone, in turns, and the others together. */
    MPI_Comm_split(stays, rank == round % size, 0, &made);
    MPI_Comm_free(&made);
    /* Ranks may free at different times what they make in one order. */
    MPI_Comm_idup(stays, &made, &request);
    if (rank % 2 && held != MPI_COMM_NULL) MPI_Comm_free(&held);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (held != MPI_COMM_NULL) MPI_Comm_free(&held);
    held = made;
    MPI_Comm_create_group(stays, all, round % 3, &made);
    MPI_Comm_free(&made);
    MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, stays, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&local, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
  }
  if (held != MPI_COMM_NULL) MPI_Comm_free(&held);
  MPI_Comm_free(&stays);
  MPI_Group_free(&all);
  MPI_Finalize();
  return 0;
}

/* One-sided operations of every rank with every other on two windows at once, one of all processes and one of them in
 * turned order, and on windows whose handles come again. Amounts depend on origin, target and window
 * (mpi_definitions.py).
 */
#include <mpi.h>
#include <stdlib.h>

enum { items = 1000 };
static double memory[2][items], local[items], fetched[items];
static int rank, size;

static void use(MPI_Win win, int own, int factor) {
  MPI_Win_fence(0, win);
  for (int target = 0; target < size; ++target) {
    if (target == own) continue;
    const int n = factor * (10 * own + target + 1);
    MPI_Put(local, n, MPI_DOUBLE, target, 0, n, MPI_DOUBLE, win);
    MPI_Get(fetched, 2 * n, MPI_DOUBLE, target, 0, 2 * n, MPI_DOUBLE, win);
    MPI_Get(fetched + 500, n, MPI_DOUBLE, target, 0, n, MPI_DOUBLE, win);
  }
  MPI_Win_fence(0, win);
  for (int target = 0; target < size; ++target) {
    if (target == own) continue;
    MPI_Accumulate(local, 3, MPI_DOUBLE, target, 700, 3, MPI_DOUBLE, MPI_SUM, win);
    MPI_Get_accumulate(local, 4, MPI_DOUBLE, fetched, 5, MPI_DOUBLE, target, 710, 5, MPI_DOUBLE, MPI_NO_OP, win);
    MPI_Fetch_and_op(local, fetched + 600, MPI_DOUBLE, target, 720, MPI_SUM, win);
  }
  MPI_Put(local, 7, MPI_DOUBLE, MPI_PROC_NULL, 0, 7, MPI_DOUBLE, win);
  MPI_Win_fence(0, win);
}

int main(int argc, char** argv) {
  MPI_Comm turned;
  MPI_Win win[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
  MPI_Win_create(memory[0], sizeof memory[0], 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win[0]);
  MPI_Win_create(memory[1], sizeof memory[1], 8, MPI_INFO_NULL, turned, &win[1]);
  MPI_Win_set_name(win[1], "turned");
  use(win[0], rank, 1);
  use(win[1], size - 1 - rank, 3);
  use(win[0], rank, 1);
  MPI_Pcontrol(0);
  use(win[0], rank, 1); /* not counted */
  MPI_Pcontrol(1);
  MPI_Win_free(&win[0]);
  for (int i = 0; i < 3; ++i) {
    double* allocated;
    MPI_Win_allocate(items * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win[0]);
    use(win[0], rank, 1 + i);
    MPI_Win_free(&win[0]);
  }
  /* An operation that fails moves nothing. */
  MPI_Win_set_errhandler(win[1], MPI_ERRORS_RETURN);
  MPI_Win_fence(0, win[1]);
  if (MPI_Put(local, 9, MPI_DOUBLE, size + 5, 0, 9, MPI_DOUBLE, win[1]) == MPI_SUCCESS) abort();
  MPI_Win_fence(0, win[1]);
  MPI_Win_free(&win[1]);
  MPI_Comm_free(&turned);
  MPI_Finalize();
  return 0;
}

/* sessions [PROCESS SET]: MPI by a session alone, without MPI_Init: every rank adds up the ranks ten times, then opens
   a second session inside the first. Prints the sum on rank 0. */
#include <mpi.h>
#include <stdio.h>

__attribute__((noinline)) static int add_up(MPI_Comm comm, int rank) {
  int sum = 0;
  for (int i = 0; i < 10; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

int main(int argc, char** argv) {
  MPI_Session session, second;
  MPI_Group all;
  MPI_Comm comm;
  int rank;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, argc > 1 ? argv[1] : "mpi://WORLD", &all);
  MPI_Comm_create_from_group(all, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_rank(comm, &rank);
  const int sum = add_up(comm, rank);
  if (rank == 0) printf("%d\n", sum);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &second);
  MPI_Session_finalize(&second);
  MPI_Comm_free(&comm);
  MPI_Group_free(&all);
  MPI_Session_finalize(&session);
  return 0;
}

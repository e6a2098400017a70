/* A program that never calls MPI_Init: all it has is of a session. */
#include "conformance.h"

PATH static void around(MPI_Comm comm, int n) {
  FUNCTION;
  Path* path;
  MPI_Request request;
  CALL(MPI_Irecv, (in, room, MPI_INT, left, 1, comm, &request), path = last);
  CALL(MPI_Send, (out, n, MPI_INT, right, 1, comm), sent(1, n * I));
  CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE), arrived(path, n * I));
  CALL(MPI_Allreduce, (MPI_IN_PLACE, in, n, MPI_INT, MPI_SUM, comm), sent(0, (size - 1) * n * I),
       received(0, (size - 1) * n * I));
  show("sum", in, n * I);
}

int main(void) {
  MPI_Session session;
  MPI_Group group;
  CALL(MPI_Session_init, (MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  CALL(MPI_Group_from_session_pset, (session, "mpi://WORLD", &group));
  CALL(MPI_Comm_create_from_group, (group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &world));
  CALL(MPI_Comm_rank, (world, &rank));
  CALL(MPI_Comm_size, (world, &size));
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  fill();
  around(world, 3);
  around(world, 500);
  print();
  CALL(MPI_Group_free, (&group));
  CALL(MPI_Comm_free, (&world));
  CALL(MPI_Session_finalize, (&session));
  return end();
}

/* Collective operations in an order that arithmetic tells: the n-th on communicator c is the function (7 n + 3 c)
   mod 6. Which communicator is next differs from step to step, and on MPI_COMM_SELF each rank has another number of
   operations. On rank 1 the measurement stops now and then. Usage: events_operations STEPS [FAIL]; FAIL: before this
   step an operation on communicator 1 fails on rank 1. */
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdlib.h>

enum { communicators = 4, functions = 6 };
static MPI_Comm comms[communicators];
static long done[communicators];

static void operation(int c) {
  MPI_Comm comm = comms[c];
  int size, in[64] = {1}, out[64], root;
  MPI_Request request;
  MPI_Comm_size(comm, &size);
  root = (int)(done[c] % size);
  switch ((7 * done[c] + 3 * c) % functions) {
    case 0: MPI_Barrier(comm); break;
    case 1: MPI_Bcast(in, 1, MPI_INT, root, comm); break;
    case 2: MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, comm); break;
    case 3: MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, root, comm); break;
    case 4: MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm); break;
    case 5:
      MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      break;
  }
  ++done[c];
}

int main(int argc, char** argv) {
  int rank, size;
  const int steps = argc > 1 ? atoi(argv[1]) : 100, fail = argc > 2 ? atoi(argv[2]) : -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comms[2]);
  comms[3] = MPI_COMM_SELF;
  MPI_Comm_set_name(comms[1], "copy");
  MPI_Comm_set_name(comms[2], "half");
  MPI_Comm_set_errhandler(comms[1], MPI_ERRORS_RETURN);
  REFRAIN_LOOP_BEGIN("step");
  for (int step = 0; step < steps; ++step) {
    REFRAIN_ITERATION_BEGIN();
    if (step == fail && rank == 1) MPI_Bcast(&rank, 1, MPI_INT, size + 7, comms[1]);
    for (int c = 0; c < communicators; ++c) {
      if (c == 3)
        for (int more = 0; more < rank; ++more) operation(3);
      if (rank == 1 && step % 5 == 2 && c == 1) MPI_Pcontrol(0);
      for (int times = (step + c) % 3; times >= 0; --times) operation(c);
      if (rank == 1 && step % 5 == 2 && c == 1) MPI_Pcontrol(1);
    }
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
  MPI_Finalize();
  return 0;
}

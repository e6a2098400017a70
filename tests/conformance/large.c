/* More bytes than an int can count, without the memory for them: datatypes whose items all lie at the same place. */
#include "conformance.h"

static int everything_is_wanted;

/* Items of 8 KiB, and a datatype of `mebi` MiB that is one such item again and again. */
static MPI_Datatype item, huge;
static long long huge_bytes;

PATH static void make(int mebi) {
  FUNCTION;
  huge_bytes = (long long)mebi << 20;
  CALL(MPI_Type_contiguous, (1 << 13, MPI_BYTE, &item));
  CALL(MPI_Type_create_hvector, (mebi * 128, 1, 0, item, &huge));
  CALL(MPI_Type_commit, (&huge));
  CALL(MPI_Type_commit, (&item));
  MPI_Count bytes;
  CALL(MPI_Type_size_x, (huge, &bytes));
  HOLDS(bytes == huge_bytes);
}
PATH static void unmake(void) {
  FUNCTION;
  CALL(MPI_Type_free, (&huge));
  CALL(MPI_Type_free, (&item));
}

/* Nobody receives it. */
PATH static void to_nobody(int n) {
  FUNCTION;
  MPI_Request request;
  MPI_Win win;
  for (int i = 0; i < n; ++i) {
    CALL(MPI_Send, (out, 1, huge, MPI_PROC_NULL, 1, world));
    CALL(MPI_Isend, (out, 1, huge, MPI_PROC_NULL, 1, world, &request));
    CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE));
  }
  CALL(MPI_Win_create, (in, sizeof in, 1, MPI_INFO_NULL, world, &win));
  CALL(MPI_Win_fence, (0, win));
  CALL(MPI_Put, (out, 1, huge, MPI_PROC_NULL, 0, 1, huge, win));
  CALL(MPI_Win_fence, (0, win));
  CALL(MPI_Win_free, (&win));
}

/* Among one rank alone, where nothing has to be moved. */
PATH static void alone(int n) {
  FUNCTION;
  MPI_Request request;
  for (int i = 0; i < n; ++i) {
    CALL(MPI_Bcast, (out, 1, huge, 0, MPI_COMM_SELF), sent(0, huge_bytes), received(0, huge_bytes));
    CALL(MPI_Ibcast, (out, 3, huge, 0, MPI_COMM_SELF, &request), sent(0, 3 * huge_bytes), received(0, 3 * huge_bytes));
    CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE));
  }
#if MPI_VERSION >= 4
  const MPI_Count many = (1LL << 32) + n;
  CALL(MPI_Bcast_c, (out, many, MPI_BYTE, 0, MPI_COMM_SELF), sent(0, many), received(0, many));
  CALL(MPI_Send_c, (out, many, MPI_INT, MPI_PROC_NULL, 1, world));
#endif
  CALL(MPI_Gather, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 2, huge, 0, MPI_COMM_SELF));
  CALL(MPI_Allgather, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 2, huge, MPI_COMM_SELF));
}

/* From a rank to itself, or to the next one, by different completions. The receiver's items lie at one place, too, so
 * what is there at the end is the last of them. */
PATH static void around(MPI_Comm comm, int to, int from, int how) {
  FUNCTION;
  Path* path;
  MPI_Request request;
  MPI_Status status;
  MPI_Count bytes;
  memset(in, 0, 1 << 13);
  switch (how) {
    case 0:
      CALL(MPI_Irecv, (in, 1, huge, from, 1, comm, &request), path = last);
      CALL(MPI_Send, (out, 1, huge, to, 1, comm), sent(1, huge_bytes));
      CALL(MPI_Wait, (&request, &status), arrived(path, huge_bytes));
      break;
    case 1:
      CALL(MPI_Irecv, (in, 1, huge, from, 1, comm, &request), path = last);
      CALL(MPI_Send, (out, 1, huge, to, 1, comm), sent(1, huge_bytes));
      CALL(MPI_Waitall, (1, &request, MPI_STATUSES_IGNORE), arrived(path, huge_bytes));
      return;
    default:
      CALL(MPI_Sendrecv, (out, 1, huge, to, 2, in, 1, huge, from, 2, comm, &status), sent(1, huge_bytes),
           received(1, huge_bytes));
  }
  CALL(MPI_Get_elements_x, (&status, MPI_BYTE, &bytes));
  HOLDS(bytes == huge_bytes);
  show_status("around", &status);
  show("last item", in, 1 << 13);
}

PATH static void two_gibi(void) {
  FUNCTION;
  make(2048);
  to_nobody(1);
  alone(1);
  around(MPI_COMM_SELF, 0, 0, 0);
  unmake();
}
PATH static void nine_gibi(void) {
  FUNCTION;
  make(9 * 1024);
  to_nobody(3);
  alone(3);
  unmake();
}
PATH static void everything(void) {
  FUNCTION;
  make(3 * 1024);
  for (int how = 0; how < 3; ++how) around(world, right, left, how);
  unmake();
}

MAIN({
  everything_is_wanted = getenv("FULL_TESTS") && atoi(getenv("FULL_TESTS"));
  two_gibi();
  nine_gibi();
  if (everything_is_wanted) everything();
})

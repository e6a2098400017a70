/* Calls that fail: the program sees the codes, its error handlers are called, and such a call counts as a visit that
 * moved nothing. */
#include "conformance.h"

static MPI_Comm comm; /* a duplicate of the world that returns errors */
static int handled;   /* calls of the program's error handlers */

/* A call that must fail; the class of the error that the program sees. */
#define FAILS(function, arguments) show_error(#function, RESULT(function, arguments))

/* Arguments that MPI refuses. */
PATH static void arguments(int n) {
  FUNCTION;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  MPI_Comm made;
  MPI_Datatype type;
  for (int i = 0; i < n; ++i) {
    HOLDS(FAILS(MPI_Send, (out, -1, MPI_INT, right, 1, comm)) == MPI_ERR_COUNT);
    HOLDS(FAILS(MPI_Send, (out, 1, MPI_INT, size + 5, 1, comm)) == MPI_ERR_RANK);
    HOLDS(FAILS(MPI_Send, (out, 1, MPI_INT, right, -5, comm)) == MPI_ERR_TAG);
    FAILS(MPI_Send, (out, 1, MPI_DATATYPE_NULL, right, 1, comm));
    FAILS(MPI_Isend, (out, 1, MPI_INT, size, 1, comm, &request));
    FAILS(MPI_Recv, (in, -1, MPI_INT, left, 1, comm, &status));
    FAILS(MPI_Irecv, (in, 1, MPI_INT, size, 1, comm, &request));
    FAILS(MPI_Sendrecv, (out, 1, MPI_INT, size, 1, in, 1, MPI_INT, left, 1, comm, &status));
    FAILS(MPI_Send_init, (out, -1, MPI_INT, right, 1, comm, &request));
    FAILS(MPI_Recv_init, (in, -1, MPI_INT, left, 1, comm, &request));
    FAILS(MPI_Probe, (size, 1, comm, &status));
    FAILS(MPI_Bcast, (in, 1, MPI_INT, size, comm));
    FAILS(MPI_Bcast, (in, -1, MPI_INT, 0, comm));
    FAILS(MPI_Reduce, (out, in, 1, MPI_INT, MPI_OP_NULL, 0, comm));
    FAILS(MPI_Allreduce, (out, in, 1, MPI_INT, MPI_OP_NULL, comm));
    FAILS(MPI_Gather, (out, 1, MPI_INT, in, 1, MPI_INT, -3, comm));
    FAILS(MPI_Ibcast, (in, 1, MPI_INT, size, comm, &request));
    FAILS(MPI_Comm_dup, (MPI_COMM_NULL, &made));
    FAILS(MPI_Comm_split, (comm, -7, 0, &made));
    FAILS(MPI_Cart_create, (comm, 1, (int[]){size + 1}, (int[]){0}, 0, &made));
    FAILS(MPI_Type_contiguous, (-1, MPI_INT, &type));
    HOLDS(request == MPI_REQUEST_NULL || i >= 0);
    request = MPI_REQUEST_NULL;
  }
}

/* More arrives than there is room for. */
PATH static void truncated(int n) {
  FUNCTION;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  Path* path;
  int flag = 0, class;
  CALL(MPI_Send, (out, n + 5, MPI_INT, right, 1, comm), sent(1, (n + 5) * I));
  HOLDS(FAILS(MPI_Recv, (in, n, MPI_INT, left, 1, comm, &statuses[0])) == MPI_ERR_TRUNCATE);
  CALL(MPI_Irecv, (in, n, MPI_INT, left, 2, comm, &requests[0]));
  CALL(MPI_Send, (out, n + 6, MPI_INT, right, 2, comm), sent(1, (n + 6) * I));
  HOLDS(FAILS(MPI_Wait, (&requests[0], &statuses[0])) == MPI_ERR_TRUNCATE);
  /* Handles of requests that failed are used again, for sends too: nothing is counted for them. */
  for (int i = 0; i < 3; ++i) {
    CALL(MPI_Irecv, (in, n, MPI_INT, left, 3, comm, &requests[0]));
    CALL(MPI_Send, (out, n + 7, MPI_INT, right, 3, comm), sent(1, (n + 7) * I));
    int result = MPI_SUCCESS;
    do {
      result = RESULT(MPI_Test, (&requests[0], &flag, MPI_STATUS_IGNORE));
    } while (result == MPI_SUCCESS && !flag);
    HOLDS(show_error("MPI_Test", result) == MPI_ERR_TRUNCATE);
    CALL(MPI_Isend, (out, n, MPI_INT, right, 4, comm, &requests[0]), sent(1, n * I));
    CALL(MPI_Irecv, (in, n, MPI_INT, left, 4, comm, &requests[1]), path = last);
    CALL(MPI_Wait, (&requests[0], &statuses[0]));
    CALL(MPI_Wait, (&requests[1], &statuses[1]), arrived(path, n * I));
  }
  /* Waited for as one of several. */
  for (int way = 0; way < 4; ++way) {
    int index = -1, count = 0, indices[2];
    requests[1] = MPI_REQUEST_NULL;
    CALL(MPI_Irecv, (in, n, MPI_INT, left, 5, comm, &requests[0]));
    CALL(MPI_Send, (out, n + 8, MPI_INT, right, 5, comm), sent(1, (n + 8) * I));
    int result = MPI_SUCCESS;
    flag = 0;
    switch (way) {
      case 0: result = RESULT(MPI_Waitany, (2, requests, &index, &statuses[0])); break;
      case 1:
        do result = RESULT(MPI_Testany, (2, requests, &index, &flag, MPI_STATUS_IGNORE));
        while (result == MPI_SUCCESS && !flag);
        break;
      case 2: result = RESULT(MPI_Waitsome, (2, requests, &count, indices, statuses)); break;
      default:
        do result = RESULT(MPI_Testsome, (2, requests, &count, indices, statuses));
        while (result == MPI_SUCCESS && !count);
    }
    show_error("one of several", result);
    say("null afterwards: %d", requests[0] == MPI_REQUEST_NULL);
    if (requests[0] != MPI_REQUEST_NULL) CALL(MPI_Request_free, (&requests[0]));
    CALL(MPI_Isend, (out, n, MPI_INT, right, 6, comm, &requests[0]), sent(1, n * I));
    CALL(MPI_Irecv, (in, n, MPI_INT, left, 6, comm, &requests[1]), path = last);
    CALL(MPI_Wait, (&requests[0], &statuses[0]));
    CALL(MPI_Wait, (&requests[1], &statuses[1]), arrived(path, n * I));
    CALL(MPI_Barrier, (comm));
  }
  /* One fails, one does not. */
  CALL(MPI_Irecv, (in, n, MPI_INT, left, 7, comm, &requests[0]));
  CALL(MPI_Irecv, (in + room / 2, n + 20, MPI_INT, left, 8, comm, &requests[1]), path = last);
  CALL(MPI_Send, (out, n + 10, MPI_INT, right, 8, comm), sent(1, (n + 10) * I));
  CALL(MPI_Send, (out, n + 9, MPI_INT, right, 7, comm), sent(1, (n + 9) * I));
  CALL(MPI_Barrier, (comm));
  int result = RESULT(MPI_Waitall, (2, requests, statuses));
  const int both_ended = result == MPI_SUCCESS || statuses[1].MPI_ERROR == MPI_SUCCESS;
  if (both_ended) arrived(path, (n + 10) * I);
  HOLDS(show_error("MPI_Waitall", result) == MPI_ERR_IN_STATUS);
  PMPI_Error_class(statuses[0].MPI_ERROR, &class);
  HOLDS(class == MPI_ERR_TRUNCATE);
  if (requests[1] != MPI_REQUEST_NULL) CALL(MPI_Wait, (&requests[1], &statuses[1]), arrived(path, (n + 10) * I));
  show_status("the other one", &statuses[1]);
  /* Persistent: it can be started again after the error. */
  CALL(MPI_Recv_init, (in, n, MPI_INT, left, 9, comm, &requests[0]));
  for (int i = 0; i < 2; ++i) {
    CALL(MPI_Start, (&requests[0]), path = last);
    CALL(MPI_Send, (out, n + (i ? 0 : 11), MPI_INT, right, 9, comm), sent(1, (n + (i ? 0 : 11)) * I));
    if (i == 0) {
      HOLDS(FAILS(MPI_Wait, (&requests[0], &statuses[0])) == MPI_ERR_TRUNCATE);
      if (requests[0] == MPI_REQUEST_NULL) break; /* Open MPI 4.1 gives it up */
    } else {
      CALL(MPI_Wait, (&requests[0], &statuses[0]), arrived(path, n * I));
    }
  }
  if (requests[0] != MPI_REQUEST_NULL) CALL(MPI_Request_free, (&requests[0]));
  CALL(MPI_Sendrecv, (out, n, MPI_INT, right, 10, in, n, MPI_INT, left, 10, comm, &statuses[0]), sent(1, n * I),
       received(1, n * I));
  show("received", in, n * I);
}

/* Many fail at once; nothing of them may be left behind. */
PATH static void all_truncated(int n) {
  FUNCTION;
  enum { many = 8 };
  MPI_Request requests[many];
  int failures = 0;
  for (int tested = 0; tested < 2; ++tested) {
    for (int i = 0; i < many; ++i) CALL(MPI_Irecv, (in, n, MPI_INT, left, 20 + i, comm, &requests[i]));
    for (int i = 0; i < many; ++i) CALL(MPI_Send, (out, n + 1, MPI_INT, right, 20 + i, comm), sent(1, (n + 1) * I));
    for (int index = 0, flag = 0; !flag || index != MPI_UNDEFINED;) {
      int result;
      flag = !tested;
      if (tested) {
        result = RESULT(MPI_Testany, (many, requests, &index, &flag, MPI_STATUS_IGNORE));
      } else {
        result = RESULT(MPI_Waitany, (many, requests, &index, MPI_STATUS_IGNORE));
      }
      if (result == MPI_SUCCESS) continue;
      ++failures;
      flag = 0;
    }
    CALL(MPI_Barrier, (comm));
  }
  HOLDS(failures > 0); /* Open MPI tells the first of those that have failed and ends all */
}

/* Error handlers of the program. */
static void of_comm(MPI_Comm* where, int* code, ...) {
  int class;
  PMPI_Error_class(*code, &class);
  ++handled;
  say("handler of a communicator: ours %d, class %d", *where == comm, class);
}
static void of_win(MPI_Win* where, int* code, ...) {
  (void)where;
  int class;
  PMPI_Error_class(*code, &class);
  ++handled;
  say("handler of a window: class %d", class);
}
static void of_file(MPI_File* where, int* code, ...) {
  (void)where;
  int class;
  PMPI_Error_class(*code, &class);
  ++handled;
  say("handler of a file: class %d", class);
}

PATH static void handlers(int n) {
  FUNCTION;
  MPI_Errhandler handler, before;
  MPI_Request request;
  CALL(MPI_Comm_create_errhandler, (of_comm, &handler));
  CALL(MPI_Comm_get_errhandler, (comm, &before));
  CALL(MPI_Comm_set_errhandler, (comm, handler));
  handled = 0;
  for (int i = 0; i < n; ++i) {
    FAILS(MPI_Send, (out, -1, MPI_INT, right, 1, comm));
    FAILS(MPI_Irecv, (in, 1, MPI_INT, size, 1, comm, &request));
    FAILS(MPI_Bcast, (in, 1, MPI_INT, size, comm));
    CALL(MPI_Send, (out, 5, MPI_INT, right, 2, comm), sent(1, 5 * I));
    FAILS(MPI_Recv, (in, 2, MPI_INT, left, 2, comm, MPI_STATUS_IGNORE));
    CALL(MPI_Comm_call_errhandler, (comm, MPI_ERR_OTHER));
  }
  HOLDS(handled == 5 * n);
  CALL(MPI_Comm_set_errhandler, (comm, before));
  CALL(MPI_Errhandler_free, (&handler));
  CALL(MPI_Errhandler_free, (&before));
}

PATH static void windows(int n) {
  FUNCTION;
  MPI_Win win;
  MPI_Errhandler handler, found;
  CALL(MPI_Win_create, (in, sizeof in, I, MPI_INFO_NULL, comm, &win));
  CALL(MPI_Win_create_errhandler, (of_win, &handler));
  CALL(MPI_Win_set_errhandler, (win, handler));
  CALL(MPI_Win_get_errhandler, (win, &found));
  handled = 0;
  CALL(MPI_Win_fence, (0, win));
  for (int i = 0; i < n; ++i) {
    FAILS(MPI_Put, (out, -1, MPI_INT, right, 0, 1, MPI_INT, win));
    FAILS(MPI_Get, (in, 1, MPI_INT, size, 0, 1, MPI_INT, win));
    FAILS(MPI_Accumulate, (out, 1, MPI_INT, -7, 0, 1, MPI_INT, MPI_SUM, win));
    CALL(MPI_Put, (out, 1, MPI_INT, right, 0, 1, MPI_INT, win), sent(0, I));
    CALL(MPI_Win_call_errhandler, (win, MPI_ERR_WIN));
  }
  CALL(MPI_Win_fence, (0, win));
  HOLDS(handled == 4 * n);
  CALL(MPI_Errhandler_free, (&handler));
  CALL(MPI_Errhandler_free, (&found));
  CALL(MPI_Win_free, (&win));
}

PATH static void files(int n) {
  FUNCTION;
  MPI_File file;
  MPI_Errhandler handler, found;
  MPI_Status status;
  char name[4096];
  snprintf(name, sizeof name, "%s/nowhere/file", getenv("SCRATCH") ? getenv("SCRATCH") : ".");
  FAILS(MPI_File_open, (comm, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file)); /* files return errors */
  FAILS(MPI_File_delete, (name, MPI_INFO_NULL));
  snprintf(name, sizeof name, "%s/errors", getenv("SCRATCH") ? getenv("SCRATCH") : ".");
  CALL(MPI_File_open, (comm, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
  CALL(MPI_File_create_errhandler, (of_file, &handler));
  CALL(MPI_File_set_errhandler, (file, handler));
  CALL(MPI_File_get_errhandler, (file, &found));
  handled = 0;
  for (int i = 0; i < n; ++i) {
    FAILS(MPI_File_read_at, (file, 0, in, 1, MPI_INT, &status)); /* only for writing */
    FAILS(MPI_File_write_at, (file, 0, out, -1, MPI_INT, &status));
    CALL(MPI_File_write_at, (file, rank * I, out, 1, MPI_INT, &status), wrote(I));
    CALL(MPI_File_call_errhandler, (file, MPI_ERR_FILE));
  }
  say("%d calls of the handler", handled);
  CALL(MPI_Errhandler_free, (&handler));
  CALL(MPI_Errhandler_free, (&found));
  CALL(MPI_File_close, (&file));
}

/* Codes of the program's own. */
PATH static void codes(void) {
  FUNCTION;
  int class, code, found, length;
  char text[MPI_MAX_ERROR_STRING];
  CALL(MPI_Add_error_class, (&class));
  CALL(MPI_Add_error_code, (class, &code));
  CALL(MPI_Add_error_string, (code, (char*)"a mistake of ours"));
  CALL(MPI_Error_string, (code, text, &length));
  CALL(MPI_Error_class, (code, &found));
  HOLDS(found == class);
  say("%s", text);
}

MAIN({
  CALL(MPI_Comm_dup, (world, &comm));
  CALL(MPI_Comm_set_errhandler, (comm, MPI_ERRORS_RETURN));
  CALL(MPI_Comm_set_errhandler, (world, MPI_ERRORS_RETURN)); /* where errors of requests and null handles go */
  arguments(1);
  arguments(3);
  truncated(5);
  truncated(100);
  all_truncated(3);
  all_truncated(200);
  handlers(1);
  handlers(4);
  windows(1);
  windows(3);
  files(1);
  files(3);
  codes();
  CALL(MPI_Comm_set_errhandler, (world, MPI_ERRORS_ARE_FATAL));
  CALL(MPI_Comm_free, (&comm));
})

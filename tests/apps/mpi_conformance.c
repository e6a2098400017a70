/* MPI functions of every class with known effect. Each call is written down with its arithmetic truth: messages and
 * bytes sent, messages and bytes received by this rank (adapters/mpi/calls/effects.hpp and traffic.hpp say what counts
 * where).
 *
 * Rank 0 prints a digest of all data received. When TRUTH_FILE is set, every rank writes "function visits messages_sent
 * bytes_sent messages_received bytes_received" lines to TRUTH_FILE.<rank>. Needs 2 ranks or more.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct Truth {
  const char* name;
  long long n[5];
} truth[512];
static int truths;

static void expect(const char* name, long long ms, long long bs, long long mr, long long br) {
  int i = 0;
  while (i < truths && strcmp(truth[i].name, name)) ++i;
  if (i == truths) truth[truths++].name = name;
  const long long add[5] = {1, ms, bs, mr, br};
  for (int k = 0; k < 5; ++k) truth[i].n[k] += add[k];
}

static void check(const char* name, int result) {
  if (result == MPI_SUCCESS) return;
  fprintf(stderr, "%s returned %d\n", name, result);
  PMPI_Abort(MPI_COMM_WORLD, 9);
}

/* A successful call and what it sends and receives: messages, bytes, messages, bytes. */
#define CALL(function, arguments, ms, bs, mr, br) \
  (check(#function, function arguments), expect(#function, ms, bs, mr, br))
/* A successful call that moves nothing. */
#define VISIT(function, arguments) CALL(function, arguments, 0, 0, 0, 0)

static uint64_t digest = 1469598103934665603u;
static void digest_bytes(const void* data, size_t n) {
  for (size_t i = 0; i < n; ++i) digest = (digest ^ ((const unsigned char*)data)[i]) * 1099511628211u;
}

enum { I = sizeof(int), D = sizeof(double), items = 1000 };
static int rank, size, left, right;
static int out[64 * items], in[64 * items];

static void fill(void) {
  for (int i = 0; i < 64 * items; ++i) out[i] = rank * 1000003 + i;
  memset(in, 0, sizeof in);
}

static void blocking(void) {
  MPI_Request request;
  MPI_Status status;
  fill();
  VISIT(MPI_Irecv, (in, items, MPI_INT, left, 1, MPI_COMM_WORLD, &request));
  CALL(MPI_Send, (out, 10, MPI_INT, right, 1, MPI_COMM_WORLD), 1, 10 * I, 0, 0);
  CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE), 0, 0, 1, 10 * I);
  VISIT(MPI_Irecv, (in + 10, items, MPI_INT, left, 1, MPI_COMM_WORLD, &request));
  CALL(MPI_Ssend, (out, 20, MPI_INT, right, 1, MPI_COMM_WORLD), 1, 20 * I, 0, 0);
  CALL(MPI_Wait, (&request, &status), 0, 0, 1, 20 * I);
  if (status.MPI_SOURCE != left || status.MPI_TAG != 1) abort();

  /* A buffered send, received with room to spare, from anybody, the status ignored. */
  static char buffer[65536];
  void* detached;
  int bytes;
  VISIT(MPI_Buffer_attach, (buffer, sizeof buffer));
  CALL(MPI_Bsend, (out, 30, MPI_INT, right, 2, MPI_COMM_WORLD), 1, 30 * I, 0, 0);
  CALL(MPI_Recv, (in + 30, items, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 0, 0, 1, 30 * I);
  VISIT(MPI_Buffer_detach, (&detached, &bytes));

  /* A ready send: the receiver says when. */
  VISIT(MPI_Irecv, (in + 60, items, MPI_INT, left, 3, MPI_COMM_WORLD, &request));
  VISIT(MPI_Barrier, (MPI_COMM_WORLD));
  CALL(MPI_Rsend, (out, 7, MPI_INT, right, 3, MPI_COMM_WORLD), 1, 7 * I, 0, 0);
  CALL(MPI_Wait, (&request, &status), 0, 0, 1, 7 * I);

  CALL(MPI_Sendrecv, (out, 11, MPI_INT, right, 4, in + 70, items, MPI_INT, left, 4, MPI_COMM_WORLD, &status), 1, 11 * I,
       1, 11 * I);
  CALL(MPI_Sendrecv_replace, (out, 12, MPI_INT, right, 5, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 1, 12 * I, 1,
       12 * I);

  /* Nothing moves to and from MPI_PROC_NULL; no bytes are in an empty message. */
  CALL(MPI_Send, (out, 10, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD), 0, 0, 0, 0);
  CALL(MPI_Recv, (in, 10, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 0, 0, 0, 0);
  CALL(MPI_Sendrecv,
       (out, 5, MPI_INT, right, 6, in, items, MPI_INT, rank ? left : MPI_PROC_NULL, 6, MPI_COMM_WORLD,
        MPI_STATUS_IGNORE),
       1, 5 * I, rank != 0, rank ? 5 * I : 0);
  if (!rank) CALL(MPI_Recv, (in, 5, MPI_INT, left, 6, MPI_COMM_WORLD, &status), 0, 0, 1, 5 * I);
  CALL(MPI_Sendrecv, (out, 0, MPI_INT, right, 7, in, 0, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 1, 0, 1,
       0);
  digest_bytes(in, sizeof in);
}

static void derived(void) {
  MPI_Datatype column, pair;
  MPI_Request request;
  fill();
  VISIT(MPI_Type_vector, (8, 2, 5, MPI_INT, &column)); /* 16 ints, with gaps */
  VISIT(MPI_Type_commit, (&column));
  VISIT(MPI_Type_contiguous, (2, MPI_DOUBLE_INT, &pair)); /* 24 bytes, extent 32 */
  VISIT(MPI_Type_commit, (&pair));
  CALL(MPI_Sendrecv, (out, 3, column, right, 1, in, 5, column, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 1,
       3 * 16 * I, 1, 3 * 16 * I);
  digest_bytes(in, sizeof in);
  /* Received as ints, ten of twenty columns' worth. */
  VISIT(MPI_Irecv, (in, 64 * items, MPI_INT, left, 2, MPI_COMM_WORLD, &request));
  CALL(MPI_Send, (out, 10, column, right, 2, MPI_COMM_WORLD), 1, 10 * 16 * I, 0, 0);
  CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE), 0, 0, 1, 10 * 16 * I);
  digest_bytes(in, sizeof in);
  /* A part of a derived item arrives. */
  CALL(MPI_Sendrecv, (out, 7, MPI_INT, right, 3, in, 1, column, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 1, 7 * I,
       1, 7 * I);
  CALL(MPI_Sendrecv, (out, 2, pair, right, 4, in, 4, pair, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 1, 2 * 24, 1,
       2 * 24);
  VISIT(MPI_Type_free, (&pair));
  /* The handle of a freed type is used again for one of another size. */
  for (int blocks = 1; blocks < 20; ++blocks) {
    VISIT(MPI_Type_free, (&column));
    VISIT(MPI_Type_vector, (blocks, 2, 5, MPI_INT, &column));
    VISIT(MPI_Type_commit, (&column));
    CALL(MPI_Sendrecv, (out, 1, column, right, 5, in, 1, column, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 1,
         2 * blocks * I, 1, 2 * blocks * I);
  }
  VISIT(MPI_Type_free, (&column));
  /* More bytes than an int can count: 2^33, all at the same place, broadcast to nobody else. */
  MPI_Datatype row, huge;
  VISIT(MPI_Type_contiguous, (1 << 13, MPI_BYTE, &row));
  VISIT(MPI_Type_create_hvector, (1 << 20, 1, 0, row, &huge));
  VISIT(MPI_Type_commit, (&huge));
  CALL(MPI_Bcast, (out, 1, huge, 0, MPI_COMM_SELF), 0, 1LL << 33, 0, 1LL << 33);
  CALL(MPI_Send, (out, 1, huge, MPI_PROC_NULL, 0, MPI_COMM_WORLD), 0, 0, 0, 0);
  VISIT(MPI_Type_free, (&huge));
  VISIT(MPI_Type_free, (&row));
}

static void nonblocking(void) {
  enum { many = 200 };
  static MPI_Request requests[2 * many];
  static MPI_Status statuses[2 * many];
  fill();
  /* Short and long arrays of requests, with null ones in between, statuses taken and ignored. */
  for (int n = 1; n <= many; n += n < 8 ? 1 : 48) {
    long long bytes = 0;
    for (int i = 0; i < n; ++i) {
      if (i % 5 == 3) {
        requests[i] = requests[n + i] = MPI_REQUEST_NULL;
        continue;
      }
      VISIT(MPI_Irecv, (in + i * 100, 100, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]));
    }
    int messages = 0;
    for (int i = 0; i < n; ++i) {
      if (i % 5 == 3) continue;
      CALL(MPI_Isend, (out + i, i % 90, MPI_INT, right, i, MPI_COMM_WORLD, &requests[n + i]), 1, i % 90 * I, 0, 0);
      bytes += i % 90 * I;
      ++messages;
    }
    CALL(MPI_Waitall, (2 * n, requests, n % 2 ? statuses : MPI_STATUSES_IGNORE), 0, 0, messages, bytes);
  }
  digest_bytes(in, sizeof in);

  /* Every other way to complete. The order is MPI's own, so what completed says how much it was: request i has i + 1
   * ints. */
  enum { few = 9 };
  int index, flag, count, indices[few];
  for (int way = 0; way < 6; ++way) {
    MPI_Request sends[few];
    for (int i = 0; i < few; ++i)
      VISIT(MPI_Irecv, (in + i * 100, 100, MPI_INT, left, 100 + i, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < few; ++i)
      CALL(MPI_Issend, (out + i, i + 1, MPI_INT, right, 100 + i, MPI_COMM_WORLD, &sends[i]), 1, (i + 1) * I, 0, 0);
    for (int done = 0; done < few;) {
      switch (way) {
        case 0:
          check("MPI_Waitany", MPI_Waitany(few, requests, &index, MPI_STATUS_IGNORE));
          expect("MPI_Waitany", 0, 0, 1, (index + 1) * I);
          ++done;
          break;
        case 1:
          check("MPI_Waitsome", MPI_Waitsome(few, requests, &count, indices, MPI_STATUSES_IGNORE));
          long long bytes = 0;
          for (int i = 0; i < count; ++i) bytes += (indices[i] + 1) * I;
          expect("MPI_Waitsome", 0, 0, count, bytes);
          done += count;
          break;
        case 2:
          check("MPI_Testany", MPI_Testany(few, requests, &index, &flag, statuses));
          expect("MPI_Testany", 0, 0, flag, flag ? (index + 1) * I : 0);
          done += flag;
          break;
        case 3:
          check("MPI_Testsome", MPI_Testsome(few, requests, &count, indices, statuses));
          bytes = 0;
          for (int i = 0; i < count; ++i) bytes += (indices[i] + 1) * I;
          expect("MPI_Testsome", 0, 0, count, bytes);
          done += count;
          break;
        case 4:
          check("MPI_Testall", MPI_Testall(few, requests, &flag, MPI_STATUSES_IGNORE));
          expect("MPI_Testall", 0, 0, flag ? few : 0, flag ? few * (few + 1) / 2 * I : 0);
          done += flag ? few : 0;
          break;
        default:
          check("MPI_Request_get_status", MPI_Request_get_status(requests[done], &flag, MPI_STATUS_IGNORE));
          expect("MPI_Request_get_status", 0, 0, 0, 0);
          check("MPI_Test", MPI_Test(&requests[done], &flag, MPI_STATUS_IGNORE));
          expect("MPI_Test", 0, 0, flag, flag ? (done + 1) * I : 0);
          done += flag;
          break;
      }
    }
    VISIT(MPI_Waitall, (few, sends, MPI_STATUSES_IGNORE));
  }
  digest_bytes(in, sizeof in);
  /* Nothing is left: an empty wait. */
  VISIT(MPI_Waitany, (few, requests, &index, MPI_STATUS_IGNORE));
  VISIT(MPI_Waitsome, (few, requests, &count, indices, MPI_STATUSES_IGNORE));
  VISIT(MPI_Waitall, (few, requests, MPI_STATUSES_IGNORE));

  /* Handles used again at once, many times. */
  for (int i = 0; i < 150; ++i) {
    VISIT(MPI_Irecv, (in, items, MPI_INT, left, 3, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_Isend, (out, i % items, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[1]), 1, i % items * I, 0, 0);
    VISIT(MPI_Wait, (&requests[1], MPI_STATUS_IGNORE));
    CALL(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE), 0, 0, 1, i % items * I);
  }
  /* Cancelled: nothing was received. And a receive from nobody. */
  VISIT(MPI_Irecv, (in, items, MPI_INT, left, 99, MPI_COMM_WORLD, &requests[0]));
  VISIT(MPI_Cancel, (&requests[0]));
  VISIT(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE));
  VISIT(MPI_Irecv, (in, items, MPI_INT, MPI_PROC_NULL, 99, MPI_COMM_WORLD, &requests[0]));
  VISIT(MPI_Isend, (in, items, MPI_INT, MPI_PROC_NULL, 99, MPI_COMM_WORLD, &requests[1]));
  VISIT(MPI_Waitall, (2, requests, statuses));
}

static void matched(void) {
  MPI_Message message;
  MPI_Request request, sending;
  MPI_Status status;
  int flag = 0, count;
  fill();
  for (int round = 0; round < 2; ++round) {
    CALL(MPI_Isend, (out, 33 + round, MPI_INT, right, 1, MPI_COMM_WORLD, &sending), 1, (33 + round) * I, 0, 0);
    VISIT(MPI_Probe, (left, 1, MPI_COMM_WORLD, &status));
    VISIT(MPI_Get_count, (&status, MPI_INT, &count));
    if (count != 33 + round) abort();
    if (round == 0) {
      VISIT(MPI_Mprobe, (left, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
      CALL(MPI_Mrecv, (in, items, MPI_INT, &message, MPI_STATUS_IGNORE), 0, 0, 1, 33 * I);
    } else {
      while (!flag) VISIT(MPI_Improbe, (left, 1, MPI_COMM_WORLD, &flag, &message, &status));
      VISIT(MPI_Imrecv, (in, items, MPI_INT, &message, &request));
      CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE), 0, 0, 1, 34 * I);
    }
    VISIT(MPI_Wait, (&sending, MPI_STATUS_IGNORE));
    digest_bytes(in, sizeof in);
  }
  VISIT(MPI_Iprobe, (MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &status));
  VISIT(MPI_Mprobe, (MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status));
  VISIT(MPI_Imrecv, (in, items, MPI_INT, &message, &request));
  VISIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
}

static void persistent(void) {
  MPI_Request requests[3];
  fill();
  VISIT(MPI_Recv_init, (in, items, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]));
  VISIT(MPI_Send_init, (out, 17, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]));
  /* No persistent send to MPI_PROC_NULL: after one, persistent collectives of MPICH 4.0.2 never complete. */
  VISIT(MPI_Ssend_init, (out, 5, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[2])); /* never started */
  for (int i = 0; i < 10; ++i) {
    if (i % 2) {
      CALL(MPI_Startall, (2, requests), 1, 17 * I, 0, 0);
      CALL(MPI_Waitall, (2, requests, MPI_STATUSES_IGNORE), 0, 0, 1, 17 * I);
    } else {
      VISIT(MPI_Start, (&requests[0]));
      CALL(MPI_Start, (&requests[1]), 1, 17 * I, 0, 0);
      VISIT(MPI_Wait, (&requests[1], MPI_STATUS_IGNORE));
      CALL(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE), 0, 0, 1, 17 * I);
      VISIT(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE)); /* not active */
    }
  }
  for (int i = 0; i < 3; ++i) VISIT(MPI_Request_free, (&requests[i]));
  digest_bytes(in, sizeof in);
#if MPI_VERSION >= 4
  double value = rank, sum;
  VISIT(MPI_Allreduce_init, (&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  for (int i = 0; i < 3; ++i) {
    CALL(MPI_Start, (&requests[0]), 0, size * D, 0, size * D);
    VISIT(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE));
  }
  VISIT(MPI_Request_free, (&requests[0]));
  CALL(MPI_Isendrecv, (out, 5, MPI_INT, right, 9, in, items, MPI_INT, left, 9, MPI_COMM_WORLD, &requests[0]), 1, 5 * I,
       0, 0);
#ifdef MPICH_VERSION /* does not tell how much was received */
  CALL(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE), 0, 0, 1, 0);
#else
  CALL(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE), 0, 0, 1, 5 * I);
#endif
  VISIT(MPI_Irecv_c, (in, items, MPI_INT, left, 10, MPI_COMM_WORLD, &requests[0]));
  CALL(MPI_Send_c, (out, 6, MPI_INT, right, 10, MPI_COMM_WORLD), 1, 6 * I, 0, 0);
  CALL(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE), 0, 0, 1, 6 * I);
  MPI_Count counts[64];
  MPI_Aint displacements[64];
  for (int i = 0; i < size; ++i) {
    counts[i] = i + 1;
    displacements[i] = 100 * i;
  }
  CALL(MPI_Allgatherv_c, (out, rank + 1, MPI_INT, in, counts, displacements, MPI_INT, MPI_COMM_WORLD), 0,
       (long long)size * (rank + 1) * I, 0, size * (size + 1) / 2 * I);
#endif
}

/* Errors that the program handles: it sees them, and what was not received is not counted. */
static void errors(void) {
  MPI_Comm comm;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int class, result;
  fill();
  VISIT(MPI_Comm_dup, (MPI_COMM_WORLD, &comm));
  VISIT(MPI_Comm_set_errhandler, (comm, MPI_ERRORS_RETURN));
  VISIT(MPI_Comm_set_errhandler, (MPI_COMM_WORLD, MPI_ERRORS_RETURN)); /* where MPICH reports errors of requests */
  result = MPI_Send(out, -1, MPI_INT, right, 1, comm);
  expect("MPI_Send", 0, 0, 0, 0);
  VISIT(MPI_Error_class, (result, &class));
  if (class != MPI_ERR_COUNT) abort();

  VISIT(MPI_Irecv, (in, 10, MPI_INT, left, 1, comm, &requests[0]));
  CALL(MPI_Send, (out, 100, MPI_INT, right, 1, comm), 1, 100 * I, 0, 0);
  result = MPI_Wait(&requests[0], statuses);
  expect("MPI_Wait", 0, 0, 0, 0);
  VISIT(MPI_Error_class, (result, &class));
  if (class != MPI_ERR_TRUNCATE) abort();

  VISIT(MPI_Irecv, (in, 10, MPI_INT, left, 1, comm, &requests[0]));
  VISIT(MPI_Irecv, (in + 100, 100, MPI_INT, left, 2, comm, &requests[1]));
  CALL(MPI_Send, (out, 100, MPI_INT, right, 2, comm), 1, 100 * I, 0, 0);
  CALL(MPI_Send, (out, 90, MPI_INT, right, 1, comm), 1, 90 * I, 0, 0);
  VISIT(MPI_Barrier, (comm));
  result = MPI_Waitall(2, requests, statuses);
  VISIT(MPI_Error_class, (result, &class));
  if (class != MPI_ERR_IN_STATUS) abort();
  int good = statuses[1].MPI_ERROR == MPI_SUCCESS;
  expect("MPI_Waitall", 0, 0, good, good ? 100 * I : 0);
  if (requests[1] != MPI_REQUEST_NULL) CALL(MPI_Wait, (&requests[1], MPI_STATUS_IGNORE), 0, 0, 1, 100 * I);
  VISIT(MPI_Comm_set_errhandler, (MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  VISIT(MPI_Comm_free, (&comm));
}

static void collectives(MPI_Comm comm) {
  int n, me;
  VISIT(MPI_Comm_size, (comm, &n));
  VISIT(MPI_Comm_rank, (comm, &me));
  const int root = n - 1, is_root = me == root;
  int counts[64], offsets[64], all = 0;
  MPI_Datatype types[64];
  int byte_offsets[64];
  for (int i = 0; i < n; ++i) {
    counts[i] = 3 * i + 1;
    offsets[i] = 100 * i;
    byte_offsets[i] = 100 * i * I;
    types[i] = MPI_INT;
    all += counts[i];
  }
  fill();
  const long long own = counts[me] * I, sum = all * I;
  CALL(MPI_Bcast, (in, 25, MPI_INT, root, comm), 0, is_root ? n * 25 * I : 0, 0, 25 * I);
  CALL(MPI_Gather, (out, 5, MPI_INT, in, 5, MPI_INT, root, comm), 0, 5 * I, 0, is_root ? n * 5 * I : 0);
  CALL(MPI_Gather, (is_root ? MPI_IN_PLACE : out, 5, MPI_INT, in, 5, MPI_INT, root, comm), 0, is_root ? 0 : 5 * I, 0,
       is_root ? (n - 1) * 5 * I : 0);
  CALL(MPI_Gatherv, (out, counts[me], MPI_INT, in, counts, offsets, MPI_INT, root, comm), 0, own, 0, is_root ? sum : 0);
  CALL(MPI_Scatter, (out, 6, MPI_INT, in, 6, MPI_INT, root, comm), 0, is_root ? n * 6 * I : 0, 0, 6 * I);
  CALL(MPI_Scatter, (out, 6, MPI_INT, is_root ? MPI_IN_PLACE : in, 6, MPI_INT, root, comm), 0,
       is_root ? (n - 1) * 6 * I : 0, 0, is_root ? 0 : 6 * I);
  CALL(MPI_Scatterv, (out, counts, offsets, MPI_INT, in, counts[me], MPI_INT, root, comm), 0, is_root ? sum : 0, 0,
       own);
  CALL(MPI_Allgather, (out, 7, MPI_INT, in, 7, MPI_INT, comm), 0, n * 7 * I, 0, n * 7 * I);
  CALL(MPI_Allgather, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 7, MPI_INT, comm), 0, (n - 1) * 7 * I, 0,
       (n - 1) * 7 * I);
  CALL(MPI_Allgatherv, (out, counts[me], MPI_INT, in, counts, offsets, MPI_INT, comm), 0, n * own, 0, sum);
  CALL(MPI_Alltoall, (out, 8, MPI_INT, in, 8, MPI_INT, comm), 0, n * 8 * I, 0, n * 8 * I);
  digest_bytes(in, sizeof in);
  int send_counts[64], receive_counts[64], sent = 0, received = 0;
  for (int i = 0; i < n; ++i) {
    sent += send_counts[i] = me + 2 * i;
    received += receive_counts[i] = i + 2 * me;
  }
  CALL(MPI_Alltoallv, (out, send_counts, offsets, MPI_INT, in, receive_counts, offsets, MPI_INT, comm), 0, sent * I, 0,
       received * I);
  CALL(MPI_Alltoallw, (out, send_counts, byte_offsets, types, in, receive_counts, byte_offsets, types, comm), 0,
       sent * I, 0, received * I);
  CALL(MPI_Reduce, (out, in, 9, MPI_INT, MPI_SUM, root, comm), 0, 9 * I, 0, is_root ? n * 9 * I : 0);
  CALL(MPI_Allreduce, (out, in, 10, MPI_INT, MPI_MAX, comm), 0, n * 10 * I, 0, n * 10 * I);
  CALL(MPI_Allreduce, (MPI_IN_PLACE, in, 10, MPI_INT, MPI_MAX, comm), 0, (n - 1) * 10 * I, 0, (n - 1) * 10 * I);
  CALL(MPI_Reduce_scatter, (out, in, counts, MPI_INT, MPI_SUM, comm), 0, sum, 0, n * own);
  CALL(MPI_Reduce_scatter_block, (out, in, 4, MPI_INT, MPI_SUM, comm), 0, n * 4 * I, 0, n * 4 * I);
  CALL(MPI_Scan, (out, in, 3, MPI_INT, MPI_SUM, comm), 0, (n - me) * 3 * I, 0, (me + 1) * 3 * I);
  CALL(MPI_Exscan, (out, in, 3, MPI_INT, MPI_SUM, comm), 0, (n - me - 1) * 3 * I, 0, me * 3 * I);
  VISIT(MPI_Barrier, (comm));
  if (me == 0) memset(in, 0, 3 * I); /* undefined there after MPI_Exscan */
  digest_bytes(in, sizeof in);

  MPI_Request requests[4];
  CALL(MPI_Ibcast, (in, 25, MPI_INT, root, comm, &requests[0]), 0, is_root ? n * 25 * I : 0, 0, 25 * I);
  CALL(MPI_Iallreduce, (out, in + 100, 10, MPI_INT, MPI_MIN, comm, &requests[1]), 0, n * 10 * I, 0, n * 10 * I);
  CALL(MPI_Igatherv, (out, counts[me], MPI_INT, in + 200, counts, offsets, MPI_INT, root, comm, &requests[2]), 0, own,
       0, is_root ? sum : 0);
  VISIT(MPI_Ibarrier, (comm, &requests[3]));
  VISIT(MPI_Waitall, (4, requests, MPI_STATUSES_IGNORE));
  digest_bytes(in, sizeof in);
}

static void communicators(void) {
  MPI_Comm dup, idup, halves, made, grid, ring, inter, merged, of_group, shared, graph;
  MPI_Request request;
  MPI_Group world_group, even;
  fill();
  VISIT(MPI_Comm_dup, (MPI_COMM_WORLD, &dup));
  VISIT(MPI_Comm_set_name, (dup, "conformance"));
  collectives(dup);
  VISIT(MPI_Comm_idup, (dup, &idup, &request));
  VISIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
  CALL(MPI_Sendrecv, (out, 5, MPI_INT, right, 1, in, 5, MPI_INT, left, 1, idup, MPI_STATUS_IGNORE), 1, 5 * I, 1, 5 * I);
  VISIT(MPI_Comm_split, (MPI_COMM_WORLD, rank % 2, -rank, &halves));
  collectives(halves);
  VISIT(MPI_Comm_split, (MPI_COMM_WORLD, rank ? MPI_UNDEFINED : 0, 0, &made));
  if (made != MPI_COMM_NULL) VISIT(MPI_Comm_free, (&made));
  VISIT(MPI_Comm_split_type, (MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));

  VISIT(MPI_Comm_group, (MPI_COMM_WORLD, &world_group));
  int range[1][3] = {{0, size - 1, 2}};
  VISIT(MPI_Group_range_incl, (world_group, 1, range, &even));
  VISIT(MPI_Comm_create, (MPI_COMM_WORLD, even, &made));
  if (rank % 2 == 0) {
    VISIT(MPI_Comm_create_group, (MPI_COMM_WORLD, even, 7, &of_group));
    VISIT(MPI_Barrier, (of_group));
    VISIT(MPI_Comm_free, (&of_group));
    VISIT(MPI_Comm_free, (&made));
  }
  VISIT(MPI_Group_free, (&even));
  VISIT(MPI_Group_free, (&world_group));

  /* An intercommunicator of even and odd ranks; n ranks on the other side. */
  VISIT(MPI_Intercomm_create, (halves, 0, dup, rank % 2 ? (size - 1) / 2 * 2 : (size - 2) / 2 * 2 + 1, 3, &inter));
  int n, local, me;
  VISIT(MPI_Comm_remote_size, (inter, &n));
  VISIT(MPI_Comm_size, (inter, &local));
  VISIT(MPI_Comm_rank, (inter, &me));
  CALL(MPI_Allgather, (out, 7, MPI_INT, in, 7, MPI_INT, inter), 0, n * 7 * I, 0, n * 7 * I);
  const int root = rank % 2 ? 0 : me == 0 ? MPI_ROOT : MPI_PROC_NULL;
  CALL(MPI_Bcast, (out, 5, MPI_INT, root, inter), 0, root == MPI_ROOT ? n * 5 * I : 0, 0, rank % 2 ? 5 * I : 0);
  VISIT(MPI_Intercomm_merge, (inter, rank % 2, &merged));
  collectives(merged);

  /* A grid with open ends: the first and the last rank have one neighbour; a ring; a graph of two directions. */
  int dims = size, open = 0, closed = 1;
  VISIT(MPI_Cart_create, (MPI_COMM_WORLD, 1, &dims, &open, 0, &grid));
  VISIT(MPI_Cart_create, (MPI_COMM_WORLD, 1, &dims, &closed, 0, &ring));
  const int neighbors = (rank > 0) + (rank < size - 1);
  memset(in, 0, sizeof in);
  CALL(MPI_Neighbor_allgather, (out, 4, MPI_INT, in, 4, MPI_INT, grid), 0, neighbors * 4 * I, 0, neighbors * 4 * I);
  int counts[2] = {2, 3}, back[2] = {3, 2}, offsets[2] = {0, 100};
  CALL(MPI_Neighbor_alltoallv, (out, counts, offsets, MPI_INT, in, back, offsets, MPI_INT, grid), 0,
       ((rank > 0) * 2 + (rank < size - 1) * 3) * I, 0, ((rank > 0) * 3 + (rank < size - 1) * 2) * I);
  CALL(MPI_Neighbor_alltoall, (out, 4, MPI_INT, in, 4, MPI_INT, ring), 0, 2 * 4 * I, 0, 2 * 4 * I);
  VISIT(MPI_Dist_graph_create_adjacent,
        (MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
  CALL(MPI_Neighbor_allgather, (out, 3, MPI_INT, in, 3, MPI_INT, graph), 0, 3 * I, 0, 3 * I);
  digest_bytes(in, sizeof in);
  MPI_Comm* all[] = {&dup, &idup, &halves, &shared, &inter, &merged, &grid, &ring, &graph};
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) VISIT(MPI_Comm_free, (all[i]));
}

static void one_sided(void) {
  static double memory[100], local[100], result[100];
  MPI_Win win;
  MPI_Request request;
  for (int i = 0; i < 100; ++i) memory[i] = local[i] = rank + i;
  VISIT(MPI_Win_create, (memory, sizeof memory, D, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  VISIT(MPI_Win_fence, (0, win));
  CALL(MPI_Put, (local, 10, MPI_DOUBLE, right, 0, 10, MPI_DOUBLE, win), 0, 10 * D, 0, 0);
  CALL(MPI_Put, (local, 10, MPI_DOUBLE, MPI_PROC_NULL, 0, 10, MPI_DOUBLE, win), 0, 0, 0, 0);
  VISIT(MPI_Win_fence, (0, win));
  CALL(MPI_Get, (result, 20, MPI_DOUBLE, right, 0, 20, MPI_DOUBLE, win), 0, 0, 0, 20 * D);
  VISIT(MPI_Win_fence, (0, win));
  CALL(MPI_Accumulate, (local, 5, MPI_DOUBLE, right, 50, 5, MPI_DOUBLE, MPI_SUM, win), 0, 5 * D, 0, 0);
  VISIT(MPI_Win_fence, (0, win));
  digest_bytes(result, sizeof result);
  digest_bytes(memory, sizeof memory);
  VISIT(MPI_Barrier, (MPI_COMM_WORLD)); /* the left neighbour changes `memory` next */
  VISIT(MPI_Win_lock, (MPI_LOCK_SHARED, right, 0, win));
  CALL(MPI_Fetch_and_op, (local, result, MPI_DOUBLE, right, 60, MPI_SUM, win), 0, D, 0, D);
  CALL(MPI_Fetch_and_op, (NULL, result, MPI_DOUBLE, right, 60, MPI_NO_OP, win), 0, 0, 0, D);
  CALL(MPI_Get_accumulate, (local, 4, MPI_DOUBLE, result, 4, MPI_DOUBLE, right, 70, 4, MPI_DOUBLE, MPI_SUM, win), 0,
       4 * D, 0, 4 * D);
  CALL(MPI_Rput, (local, 3, MPI_DOUBLE, right, 80, 3, MPI_DOUBLE, win, &request), 0, 3 * D, 0, 0);
  VISIT(MPI_Wait, (&request, MPI_STATUS_IGNORE));
  VISIT(MPI_Win_flush, (right, win));
  VISIT(MPI_Win_unlock, (right, win));
  VISIT(MPI_Win_free, (&win));
}

static void files(void) {
  MPI_File file;
  MPI_Offset bytes;
  const char* name = getenv("CONFORMANCE_FILE");
  if (!name) return;
  fill();
  VISIT(MPI_File_open, (MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  VISIT(MPI_File_write_at_all, (file, rank * 100 * I, out, 100, MPI_INT, MPI_STATUS_IGNORE));
  VISIT(MPI_File_sync, (file));
  VISIT(MPI_Barrier, (MPI_COMM_WORLD));
  VISIT(MPI_File_read_at, (file, right * 100 * I, in, 100, MPI_INT, MPI_STATUS_IGNORE));
  VISIT(MPI_File_get_size, (file, &bytes));
  VISIT(MPI_File_close, (&file));
  if (bytes != size * 100 * I) abort();
  digest_bytes(in, sizeof in);
}

static void management(void) {
  MPI_Info info;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length, flag, keyval, count;
  void* value;
  MPI_Aint address;
  VISIT(MPI_Info_create, (&info));
  VISIT(MPI_Info_set, (info, "key", "value"));
  VISIT(MPI_Info_get, (info, "key", 16, text, &flag));
  VISIT(MPI_Info_get_nkeys, (info, &count));
  VISIT(MPI_Info_free, (&info));
  VISIT(MPI_Comm_create_keyval, (MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
  VISIT(MPI_Comm_set_attr, (MPI_COMM_WORLD, keyval, &count));
  VISIT(MPI_Comm_get_attr, (MPI_COMM_WORLD, keyval, &value, &flag));
  if (!flag || value != &count) abort();
  VISIT(MPI_Comm_delete_attr, (MPI_COMM_WORLD, keyval));
  VISIT(MPI_Comm_free_keyval, (&keyval));
  VISIT(MPI_Get_processor_name, (text, &length));
  VISIT(MPI_Get_library_version, (text, &length));
  VISIT(MPI_Get_address, (text, &address));
  VISIT(MPI_Op_commutative, (MPI_SUM, &flag));
  VISIT(MPI_Initialized, (&flag));
  VISIT(MPI_Pcontrol, (3, "a tool's", "own business"));
}

int main(int argc, char** argv) {
  VISIT(MPI_Init, (&argc, &argv));
  VISIT(MPI_Comm_rank, (MPI_COMM_WORLD, &rank));
  VISIT(MPI_Comm_size, (MPI_COMM_WORLD, &size));
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  blocking();
  derived();
  nonblocking();
  matched();
  persistent();
  errors();
  collectives(MPI_COMM_WORLD);
  communicators();
  one_sided();
  files();
  management();

  unsigned long long mine = digest, digests[64];
  CALL(MPI_Gather, (&mine, 1, MPI_UNSIGNED_LONG_LONG, digests, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD), 0, 8, 0,
       rank ? 0 : 8 * size);
  if (!rank)
    for (int i = 0; i < size; ++i) printf("%016llx\n", digests[i]);
  VISIT(MPI_Finalize, ());

  if (getenv("TRUTH_FILE")) {
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", getenv("TRUTH_FILE"), rank);
    FILE* file = fopen(name, "w");
    if (!file) return 8;
    for (int i = 0; i < truths; ++i) {
      fprintf(file, "%s", truth[i].name);
      for (int k = 0; k < 5; ++k) fprintf(file, " %lld", truth[i].n[k]);
      fprintf(file, "\n");
    }
    fclose(file);
  }
  return 0;
}

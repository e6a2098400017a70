/* Independent PMPI counter, preloaded alone: outermost calls per function, and bytes and messages of point-to-point
 * functions, summed over all ranks and written as JSON to the file that COUNTER_FILE names.
 *
 * Received bytes come from the status of the completed receive. Those of MPI_Irecv are kept under "MPI_Irecv", whatever
 * function completes the request. MPI_PROC_NULL moves nothing.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS(F)                                                                                                 \
  F(Abort, (MPI_Comm c, int e), (c, e))                                                                              \
  F(Allgather, (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm c),                   \
    (s, n, t, r, m, u, c))                                                                                           \
  F(Allgatherv,                                                                                                      \
    (const void* s, int n, MPI_Datatype t, void* r, const int* m, const int* d, MPI_Datatype u, MPI_Comm c),         \
    (s, n, t, r, m, d, u, c))                                                                                        \
  F(Allreduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))            \
  F(Alltoall, (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm c),                    \
    (s, n, t, r, m, u, c))                                                                                           \
  F(Alltoallv,                                                                                                       \
    (const void* s, const int* n, const int* d, MPI_Datatype t, void* r, const int* m, const int* e, MPI_Datatype u, \
     MPI_Comm c),                                                                                                    \
    (s, n, d, t, r, m, e, u, c))                                                                                     \
  F(Barrier, (MPI_Comm c), (c))                                                                                      \
  F(Bcast, (void* b, int n, MPI_Datatype t, int r, MPI_Comm c), (b, n, t, r, c))                                     \
  F(Cart_coords, (MPI_Comm c, int r, int n, int* a), (c, r, n, a))                                                   \
  F(Cart_create, (MPI_Comm c, int n, const int* d, const int* p, int r, MPI_Comm* o), (c, n, d, p, r, o))            \
  F(Cart_get, (MPI_Comm c, int n, int* d, int* p, int* a), (c, n, d, p, a))                                          \
  F(Cart_rank, (MPI_Comm c, const int* a, int* r), (c, a, r))                                                        \
  F(Cart_shift, (MPI_Comm c, int d, int s, int* a, int* b), (c, d, s, a, b))                                         \
  F(Comm_dup, (MPI_Comm c, MPI_Comm * o), (c, o))                                                                    \
  F(Comm_free, (MPI_Comm * c), (c))                                                                                  \
  F(Comm_rank, (MPI_Comm c, int* r), (c, r))                                                                         \
  F(Comm_size, (MPI_Comm c, int* s), (c, s))                                                                         \
  F(Comm_split, (MPI_Comm c, int k, int o, MPI_Comm* n), (c, k, o, n))                                               \
  F(Dims_create, (int n, int d, int* e), (n, d, e))                                                                  \
  F(Gather, (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int o, MPI_Comm c),               \
    (s, n, t, r, m, u, o, c))                                                                                        \
  F(Gatherv,                                                                                                         \
    (const void* s, int n, MPI_Datatype t, void* r, const int* m, const int* d, MPI_Datatype u, int o, MPI_Comm c),  \
    (s, n, t, r, m, d, u, o, c))                                                                                     \
  F(Get_count, (const MPI_Status* s, MPI_Datatype t, int* n), (s, t, n))                                             \
  F(Reduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op o, int q, MPI_Comm c), (s, r, n, t, o, q, c))     \
  F(Scan, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))                 \
  F(Scatter, (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, int o, MPI_Comm c),              \
    (s, n, t, r, m, u, o, c))                                                                                        \
  F(Type_commit, (MPI_Datatype * t), (t))                                                                            \
  F(Type_contiguous, (int n, MPI_Datatype t, MPI_Datatype* o), (n, t, o))                                            \
  F(Type_create_subarray, (int n, const int* w, const int* p, const int* s, int o, MPI_Datatype t, MPI_Datatype* r), \
    (n, w, p, s, o, t, r))                                                                                           \
  F(Type_free, (MPI_Datatype * t), (t))

/* Functions with a hand-written wrapper below. */
#define OTHERS(F) F(Send) F(Rsend) F(Isend) F(Recv) F(Irecv) F(Sendrecv) F(Wait) F(Waitall) F(Waitany)

enum {
#define ID(name, ...) Id_##name,
  FUNCTIONS(ID) OTHERS(ID) function_count
};
static const char* const names[] = {
#define NAME(name, ...) "MPI_" #name,
    FUNCTIONS(NAME) OTHERS(NAME)};

enum { Visits, MessagesSent, BytesSent, MessagesReceived, BytesReceived, columns };
static long long counts[function_count][columns];
static __thread int depth;

#define ENTER(name) \
  if (!depth++) counts[Id_##name][Visits]++;
#define LEAVE(result) \
  depth--;            \
  return result;

#define WRAP(name, parameters, arguments) \
  int MPI_##name parameters {             \
    ENTER(name)                           \
    int result = PMPI_##name arguments;   \
    LEAVE(result)                         \
  }
FUNCTIONS(WRAP)

static void sent(int function, int n, MPI_Datatype t, int peer) {
  int size;
  if (peer == MPI_PROC_NULL) return;
  PMPI_Type_size(t, &size);
  counts[function][MessagesSent]++;
  counts[function][BytesSent] += (long long)n * size;
}

static void received(int function, const MPI_Status* status) {
  int bytes;
  if (status->MPI_SOURCE == MPI_PROC_NULL) return;
  PMPI_Get_count(status, MPI_BYTE, &bytes);
  counts[function][MessagesReceived]++;
  counts[function][BytesReceived] += bytes;
}

/* Active receive requests. */
enum { limit = 65536 };
static MPI_Request active[limit];
static int active_count;

static int is_receive(MPI_Request request, int forget) {
  if (request == MPI_REQUEST_NULL) return 0;
  for (int i = 0; i < active_count; ++i)
    if (active[i] == request) {
      if (forget) active[i] = active[--active_count];
      return 1;
    }
  return 0;
}

int MPI_Send(const void* b, int n, MPI_Datatype t, int d, int g, MPI_Comm c) {
  ENTER(Send)
  sent(Id_Send, n, t, d);
  int result = PMPI_Send(b, n, t, d, g, c);
  LEAVE(result)
}
int MPI_Rsend(const void* b, int n, MPI_Datatype t, int d, int g, MPI_Comm c) {
  ENTER(Rsend)
  sent(Id_Rsend, n, t, d);
  int result = PMPI_Rsend(b, n, t, d, g, c);
  LEAVE(result)
}
int MPI_Isend(const void* b, int n, MPI_Datatype t, int d, int g, MPI_Comm c, MPI_Request* r) {
  ENTER(Isend)
  sent(Id_Isend, n, t, d);
  int result = PMPI_Isend(b, n, t, d, g, c, r);
  LEAVE(result)
}
int MPI_Recv(void* b, int n, MPI_Datatype t, int s, int g, MPI_Comm c, MPI_Status* status) {
  MPI_Status own;
  ENTER(Recv)
  if (status == MPI_STATUS_IGNORE) status = &own;
  int result = PMPI_Recv(b, n, t, s, g, c, status);
  received(Id_Recv, status);
  LEAVE(result)
}
int MPI_Irecv(void* b, int n, MPI_Datatype t, int s, int g, MPI_Comm c, MPI_Request* r) {
  ENTER(Irecv)
  int result = PMPI_Irecv(b, n, t, s, g, c, r);
  if (active_count == limit) abort();
  if (s != MPI_PROC_NULL) active[active_count++] = *r;
  LEAVE(result)
}
int MPI_Sendrecv(const void* b, int n, MPI_Datatype t, int d, int g, void* o, int m, MPI_Datatype u, int s, int h,
                 MPI_Comm c, MPI_Status* status) {
  MPI_Status own;
  ENTER(Sendrecv)
  if (status == MPI_STATUS_IGNORE) status = &own;
  sent(Id_Sendrecv, n, t, d);
  int result = PMPI_Sendrecv(b, n, t, d, g, o, m, u, s, h, c, status);
  received(Id_Sendrecv, status);
  LEAVE(result)
}
int MPI_Wait(MPI_Request* r, MPI_Status* status) {
  MPI_Status own;
  ENTER(Wait)
  if (status == MPI_STATUS_IGNORE) status = &own;
  int receive = is_receive(*r, 1);
  int result = PMPI_Wait(r, status);
  if (receive) received(Id_Irecv, status);
  LEAVE(result)
}
int MPI_Waitall(int n, MPI_Request* r, MPI_Status* statuses) {
  ENTER(Waitall)
  MPI_Status* own = malloc((size_t)n * sizeof *own);
  char* receive = malloc((size_t)n + 1);
  for (int i = 0; i < n; ++i) receive[i] = (char)is_receive(r[i], 1);
  int result = PMPI_Waitall(n, r, own);
  for (int i = 0; i < n; ++i) {
    if (receive[i]) received(Id_Irecv, &own[i]);
    if (statuses != MPI_STATUSES_IGNORE) statuses[i] = own[i];
  }
  free(own);
  free(receive);
  LEAVE(result)
}
int MPI_Waitany(int n, MPI_Request* r, int* index, MPI_Status* status) {
  MPI_Status own;
  ENTER(Waitany)
  if (status == MPI_STATUS_IGNORE) status = &own;
  MPI_Request* before = malloc((size_t)n * sizeof *before);
  for (int i = 0; i < n; ++i) before[i] = r[i];
  int result = PMPI_Waitany(n, r, index, status);
  if (*index != MPI_UNDEFINED && is_receive(before[*index], 1)) received(Id_Irecv, status);
  free(before);
  LEAVE(result)
}

int MPI_Finalize(void) {
  long long total[function_count][columns];
  int rank;
  const char* path = getenv("COUNTER_FILE");
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Reduce(counts, total, function_count * columns, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  FILE* out = rank == 0 && path ? fopen(path, "w") : NULL;
  if (out) {
    fprintf(out, "{");
    for (int i = 0; i < function_count; ++i)
      fprintf(out,
              "%s\"%s\": {\"visits\": %lld, \"messages_sent\": %lld, \"bytes_sent\": %lld, "
              "\"messages_received\": %lld, \"bytes_received\": %lld}",
              i ? ",\n" : "", names[i], total[i][Visits], total[i][MessagesSent], total[i][BytesSent],
              total[i][MessagesReceived], total[i][BytesReceived]);
    fprintf(out, "}\n");
    fclose(out);
  }
  return PMPI_Finalize();
}

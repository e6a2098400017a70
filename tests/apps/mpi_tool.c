/* Other tools, as they come: each counts the calls that it gets and passes them on to PMPI.
 *
 *   default        MPI_Init, MPI_Init_thread, MPI_Finalize and some calls, one of them through a function of its own
 *   ONLY_INIT      MPI_Init alone, by the definition that follows in link order
 *   ONLY_HANDLE    MPI_Allreduce alone, by the definition in MPI's library, looked up at each call
 *   ONLY_FORTRAN   mpi_send_ and mpi_recv_ alone
 *
 * At the end of the process: "NAME VISITS" lines in TOOL_FILE.<process id>.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { init, finalize, send, receive, post, complete, reduce, kinds };
static const char* const names[] = {"MPI_Init",  "MPI_Finalize", "MPI_Send",     "MPI_Recv",
                                    "MPI_Irecv", "MPI_Wait",     "MPI_Allreduce"};
static long visits[kinds];

__attribute__((destructor)) static void write_visits(void) {
  const char* path = getenv("TOOL_FILE");
  long all = 0;
  for (int i = 0; i < kinds; ++i) all += visits[i];
  if (!path || all == 0) return;
  char name[4096];
  snprintf(name, sizeof name, "%s.%d", path, (int)getpid());
  FILE* file = fopen(name, "w");
  for (int i = 0; file && i < kinds; ++i) fprintf(file, "%s %ld\n", names[i], visits[i]);
  if (file) fclose(file);
}

#if defined(ONLY_INIT)

int MPI_Init(int* argc, char*** argv) {
  ++visits[init];
  int (*next)(int*, char***) = (int (*)(int*, char***))dlsym(RTLD_NEXT, "MPI_Init");
  return next(argc, argv);
}

#elif defined(ONLY_HANDLE)

int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
  ++visits[reduce];
#ifdef OPEN_MPI
  void* library = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
#else
  void* library = dlopen("libmpich.so.12", RTLD_LAZY | RTLD_NOLOAD);
#endif
  return ((__typeof__(&MPI_Allreduce))dlsym(library, "MPI_Allreduce"))(in, out, n, t, op, c);
}

#elif defined(ONLY_FORTRAN)

extern void pmpi_send_(void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
extern void pmpi_recv_(void*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*, MPI_Fint*);
void mpi_send_(void* b, MPI_Fint* n, MPI_Fint* t, MPI_Fint* d, MPI_Fint* g, MPI_Fint* c, MPI_Fint* e) {
  ++visits[send];
  pmpi_send_(b, n, t, d, g, c, e);
}
void mpi_recv_(void* b, MPI_Fint* n, MPI_Fint* t, MPI_Fint* s, MPI_Fint* g, MPI_Fint* c, MPI_Fint* st, MPI_Fint* e) {
  ++visits[receive];
  pmpi_recv_(b, n, t, s, g, c, st, e);
}

#else

int MPI_Init(int* argc, char*** argv) { return ++visits[init], PMPI_Init(argc, argv); }
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return ++visits[init], PMPI_Init_thread(argc, argv, required, provided);
}
int MPI_Finalize(void) {
  int rank, size; /* what a tool asks for itself is not the program's */
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  return ++visits[finalize], PMPI_Finalize();
}
int MPI_Send(const void* b, int n, MPI_Datatype t, int d, int g, MPI_Comm c) {
  int size;
  PMPI_Type_size(t, &size);
  return ++visits[send], PMPI_Send(b, n, t, d, g, c);
}
int MPI_Recv(void* b, int n, MPI_Datatype t, int s, int g, MPI_Comm c, MPI_Status* status) {
  return ++visits[receive], PMPI_Recv(b, n, t, s, g, c, status);
}
int MPI_Irecv(void* b, int n, MPI_Datatype t, int s, int g, MPI_Comm c, MPI_Request* request) {
  return ++visits[post], PMPI_Irecv(b, n, t, s, g, c, request);
}
int MPI_Wait(MPI_Request* request, MPI_Status* status) { return ++visits[complete], PMPI_Wait(request, status); }
int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
  return ++visits[reduce], PMPI_Allreduce(in, out, n, t, op, c);
}

#endif

/* Counts the communication that somebody else than the program makes through the profiling interface of MPI, in three
   phases: in MPI_Init, after it, in MPI_Finalize. Stands before MPI in the order of libraries. The program says when
   the next phase begins. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>

// clang-format off
static atomic_int phase, counts[3];
void next_phase(void) { ++phase; }
int count_of_phase(int i) { return counts[i]; }

#define COUNTED(name, parameters, arguments)                                                         \
  int P##name parameters {                                                                           \
    static int(*next) parameters;                                                                    \
    if (!next) *(void**)&next = dlsym(RTLD_NEXT, "P" #name);                                         \
    ++counts[phase];                                                                                 \
    return next arguments;                                                                           \
  }
COUNTED(MPI_Isend, (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g), (a, b, c, d, e, f, g))
COUNTED(MPI_Improbe, (int a, int b, MPI_Comm c, int* d, MPI_Message* e, MPI_Status* f), (a, b, c, d, e, f))
COUNTED(MPI_Imrecv, (void* a, int b, MPI_Datatype c, MPI_Message* d, MPI_Request* e), (a, b, c, d, e))
COUNTED(MPI_Comm_idup, (MPI_Comm a, MPI_Comm* b, MPI_Request* c), (a, b, c))
COUNTED(MPI_Test, (MPI_Request* a, int* b, MPI_Status* c), (a, b, c))
COUNTED(MPI_Cancel, (MPI_Request* a), (a))
COUNTED(MPI_Comm_free, (MPI_Comm* a), (a))

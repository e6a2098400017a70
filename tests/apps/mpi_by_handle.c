/* Takes MPI's functions by dlsym(handle), as bindings of other languages do. Needs no MPI when it is linked. Two ranks.
 *
 *     mpi_by_handle LIBMPI OTHER FORTRAN    the libraries; OTHER has an MPI_Barrier of its own; FORTRAN may be "none"
 *
 * Rank 0 prints what must be the same without Refrain.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 321, PROFILING = 7, FORTRAN = 5 };

#define TAKE(handle, name) __typeof__(&name) own_##name = (__typeof__(&name))dlsym(handle, #name)

#ifdef OPEN_MPI
#define DATA(type, name) ((type)dlsym(mpi, #name))
#define WORLD DATA(MPI_Comm, ompi_mpi_comm_world)
#define DOUBLE DATA(MPI_Datatype, ompi_mpi_double)
#define SUM DATA(MPI_Op, ompi_mpi_op_sum)
#else
#define WORLD MPI_COMM_WORLD
#define DOUBLE MPI_DOUBLE
#define SUM MPI_SUM
#endif

static const char* there(const void* symbol) { return symbol ? "there" : "not there"; }

int main(int argc, char** argv) {
  if (argc < 4) return 3;
  void *mpi = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *other = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  if (!mpi || !other) return puts(dlerror()), 4;
  TAKE(mpi, MPI_Init);
  TAKE(mpi, MPI_Finalize);
  TAKE(mpi, MPI_Comm_rank);
  TAKE(mpi, MPI_Sendrecv);
  TAKE(mpi, MPI_Allreduce);
  TAKE(mpi, PMPI_Allreduce);
  const void* versioned = dlvsym(mpi, "MPI_Barrier", "NO_SUCH_VERSION");
  int (*others)(void) = (int (*)(void))dlsym(other, "MPI_Barrier");
  void *unknown = dlsym(mpi, "MPI_Nonsense"), *default_one;
  const char* why = dlerror();
  const int said = why && strstr(why, "MPI_Nonsense");
  const int is_quiet = dlsym(mpi, "MPI_Recv") && !dlerror();
  default_one = dlsym(RTLD_DEFAULT, "MPI_Another_nonsense");
  const int again = dlerror() != NULL;

  own_MPI_Init(NULL, NULL);
  int rank;
  own_MPI_Comm_rank(WORLD, &rank);
  double one = 1, sum = 0, in = 0;
  for (int i = 0; i < ROUNDS; ++i) {
    own_MPI_Allreduce(&one, &sum, 1, DOUBLE, SUM, WORLD);
    own_MPI_Sendrecv(&one, 1, DOUBLE, 1 - rank, 0, &in, 1, DOUBLE, 1 - rank, 0, WORLD, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < PROFILING; ++i) own_PMPI_Allreduce(&one, &sum, 1, DOUBLE, SUM, WORLD);
  void* fortran = strcmp(argv[3], "none") ? dlopen(argv[3], RTLD_NOW | RTLD_LOCAL) : NULL;
  void (*fortran_rank)(const MPI_Fint*, MPI_Fint*, MPI_Fint*) =
      fortran ? (void (*)(const MPI_Fint*, MPI_Fint*, MPI_Fint*))dlsym(fortran, "mpi_comm_rank_") : NULL;
  MPI_Fint fortran_says = -1, error;
#ifdef OPEN_MPI
  const MPI_Fint fortran_world = 0;
#else
  const MPI_Fint fortran_world = MPI_COMM_WORLD;
#endif
  for (int i = 0; i < FORTRAN && fortran_rank; ++i) fortran_rank(&fortran_world, &fortran_says, &error);
  const int from_other = others();
  own_MPI_Finalize();
  if (rank == 0)
    printf("sum %g, nonsense %s (%s), quiet %d, again %s %d, version %s, other %d, Fortran %d\n", sum, there(unknown),
           said ? "said" : "not said", is_quiet, there(default_one), again, there(versioned), from_other, fortran_says);
  return 0;
}

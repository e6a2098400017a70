/* Asks MPI something, and never initializes it. */
#include <mpi.h>

int main(void) {
  int initialized = 1, version, subversion;
  MPI_Get_version(&version, &subversion);
  for (int i = 0; i < 3; ++i) MPI_Initialized(&initialized);
  return initialized;
}

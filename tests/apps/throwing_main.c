/* A main in C, or in C++ (throwing_main.cpp is this file): exceptions of a library. Prints their sum, whether libgcc
 * raises them, and CPU seconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif
long throw_and_catch(long times);
double throwing_seconds(long times);
int raises_by_libgcc(void);
#ifdef __cplusplus
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long times = argc > 1 ? atol(argv[1]) : 1000;
  printf("%ld %d\n", throw_and_catch(times), raises_by_libgcc());
  fprintf(stderr, "%.9f\n", throwing_seconds(times));
  MPI_Finalize();
  return 0;
}

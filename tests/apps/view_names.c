/* A program whose names try to be markup. */
#include <mpi.h>
#include <refrain/refrain.h>

static volatile double sum;
#define EVIL "</script><img src=x onerror=\"window.ran=1\">'\xe2\x80\xa8\xff\x01"

__attribute__((noinline)) static void work(int n) {
  for (int i = 0; i < n * 100000; ++i) sum += i;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  REFRAIN_LOOP_BEGIN("steps");
  for (int i = 0; i < 100; ++i) {
    REFRAIN_ITERATION_BEGIN();
    REFRAIN_REGION_BEGIN(EVIL);
    work(3 + 4 * rank);
    MPI_Barrier(MPI_COMM_WORLD);
    REFRAIN_REGION_END(EVIL);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  MPI_Finalize();
  return 0;
}

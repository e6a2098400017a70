/* Three threads with a marked loop each, of iterations as short as can be, until the program is killed. */
#include <mpi.h>
#include <pthread.h>
#include <refrain/refrain.h>

static volatile double x;

static void* run(void* with_mpi) {
  REFRAIN_LOOP_BEGIN("loop");
  for (long i = 0;; ++i) {
    REFRAIN_ITERATION_BEGIN();
    for (int k = 0; k < 2000; ++k) x += k;
    if (with_mpi) {
      double in = 1, out;
      MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    }
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  pthread_t thread[2];
  for (int i = 0; i < 2; ++i) pthread_create(&thread[i], NULL, run, NULL);
  run(&provided);
  return 0;
}

/* Receives that are posted in an even iteration and completed in the next: iteration i posts, or completes, 1000 + i
   bytes. After the loop another thread completes the 77 bytes that the first has posted. Exit status 4:
   MPI has no MPI_THREAD_MULTIPLE. Usage: iterations_requests ITERATIONS (an even number)
   [LEAVE]: with it a receive is left that nobody completes. */
#include <mpi.h>
#include <pthread.h>
#include <refrain/refrain.h>
#include <stdlib.h>
#include <unistd.h>

static char in[100000], out[100000];
static int other;
static volatile int stay; /* no call of MPI is the last of its function, so none becomes a jump */

__attribute__((noinline)) static void post(MPI_Request* request, int bytes) {
  MPI_Irecv(in, 50000, MPI_BYTE, other, bytes, MPI_COMM_WORLD, request);
  stay = 1;
}
__attribute__((noinline)) static void give(int bytes) {
  MPI_Send(out, bytes, MPI_BYTE, other, bytes, MPI_COMM_WORLD);
  stay = 1;
}
__attribute__((noinline)) static void finish(MPI_Request* request) {
  MPI_Wait(request, MPI_STATUS_IGNORE);
  stay = 1;
}
static void* helper(void* request) {
  finish(request);
  return NULL;
}

int main(int argc, char** argv) {
  int provided, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) return 4;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = 1 - rank;
  const int iterations = atoi(argv[1]);
  MPI_Request request;
  REFRAIN_LOOP_BEGIN("step");
  for (int i = 0; i < iterations; ++i) {
    REFRAIN_ITERATION_BEGIN();
    if (i % 2 == 0) {
      post(&request, 1000 + i);
    } else {
      give(1000 + i - 1);
      finish(&request);
    }
    usleep(200);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  post(&request, 77);
  give(77);
  pthread_t thread;
  pthread_create(&thread, NULL, helper, &request);
  pthread_join(thread, NULL);
  if (argc > 2) post(&request, 88); /* and that is all */
  MPI_Finalize();
  return 0;
}

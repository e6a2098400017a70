/* A marked loop of two kinds of iterations: every fourth one computes in relax(), the others in smooth(). On one call
   path (halo) bytes follow the number of messages, which are of equal size; on another one (payload) there is one
   message and its size varies. Writes the bytes that each iteration sent in halo and in payload to LOG (u64, u64).
   Usage: iterations_kinds ITERATIONS LOOPS LOG */
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { each = 400 };
static char out[8000], in[8000];
static volatile double x = 1;

static void send_to_self(int bytes) {
  MPI_Sendrecv(out, bytes, MPI_BYTE, 0, 0, in, bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

__attribute__((noinline)) static void smooth(long loops) {
  for (long i = 0; i < loops; ++i) x = x * 1.0000001 + 1e-9;
}
__attribute__((noinline)) static void relax(long loops) {
  for (long i = 0; i < loops; ++i) x = x * 0.9999999 + 1e-9;
}
__attribute__((noinline)) static uint64_t halo(long messages) {
  for (long m = 0; m < messages; ++m) send_to_self(each);
  return (uint64_t)messages * each;
}
__attribute__((noinline)) static uint64_t payload(int bytes) {
  send_to_self(bytes);
  return (uint64_t)bytes;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 4) return 1;
  const long iterations = atol(argv[1]), loops = atol(argv[2]);
  FILE* log = fopen(argv[3], "w");
  if (!log) return 1;
  REFRAIN_LOOP_BEGIN("step");
  for (long i = 0; i < iterations; ++i) {
    uint64_t sent[2];
    REFRAIN_ITERATION_BEGIN();
    if (i % 4 == 3) relax(loops);
    else smooth(loops);
    sent[0] = halo(1 + i * 7 % 5);
    sent[1] = payload((int)(1000 + 37 * (i * 13 % 101)));
    REFRAIN_ITERATION_END();
    fwrite(sent, sizeof sent, 1, log);
  }
  REFRAIN_LOOP_END();
  fclose(log);
  MPI_Finalize();
  return 0;
}

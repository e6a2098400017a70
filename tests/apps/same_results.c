/* Results to the last bit, in C, with a rounding mode of its own. Ends with the status that it is given.
 *
 *     same_results STATUS STEPS
 */
#include "same_results.h"

#include <errno.h>
#include <fenv.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const long steps = argc > 2 ? atol(argv[2]) : 1000;
  int rank;
  double in[4], out[4];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  errno = 0;
  for (int round = 0; round < 4; ++round) {
    fesetround(round % 2 ? FE_UPWARD : FE_TONEAREST);
    in[round] = chaos(0.1 + 0.2 * rank + 0.01 * round, steps);
    in[round] += (double)long_chaos(0.3L + 0.1L * (long double)rank, steps);
    MPI_Allreduce(in, out, round + 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    in[round] += out[round] * 1e-3;
  }
  const int rounding = fegetround(), last_error = errno;
  fesetround(FE_TONEAREST);
  if (rank == 0) {
    for (int i = 0; i < 4; ++i) printf("%a %a\n", in[i], out[i]);
    printf("%d %d\n", rounding == FE_UPWARD, last_error);
  }
  MPI_Finalize();
  return atoi(argv[1]);
}

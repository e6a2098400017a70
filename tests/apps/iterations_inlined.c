/* A loop whose body the compiler inlines: STEPS steps with one MPI_Barrier each, made by `step`, which is part of main,
   and one MPI_Allreduce each, made by `sum_up`, which is part of main too and called by a function of its own twice. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) double sum_up(double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all + 1;
}

static inline __attribute__((always_inline)) double step(double value) {
  MPI_Barrier(MPI_COMM_WORLD);
  return sum_up(value) / 2;
}

__attribute__((noinline)) double set_up(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  return sum_up(1) + sum_up(2);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int steps = argc > 1 ? atoi(argv[1]) : 10;
  double value = set_up();
  for (int i = 0; i < steps; ++i) value = step(value);
  MPI_Barrier(MPI_COMM_WORLD);
  if (value == 0) puts("zero");
  MPI_Finalize();
  puts("done");
  return 0;
}

/* Two OpenMP threads with 2.0 and 1.5 CPU seconds in functions of their own; prints what they spent as JSON. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <time.h>

#define PATH __attribute__((noinline, noclone))

static double cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
PATH static double spin(double s) {
  volatile double sink = 0;
  double begin = cpu(), now;
  do
    for (int i = 0; i < 5000; ++i) sink += i;
  while ((now = cpu()) < begin + s);
  return now - begin;
}
PATH static void work_of_main(double* spent) { *spent = spin(2.0); }
PATH static void work_of_worker(double* spent) { *spent = spin(1.5); }

int main(int argc, char** argv) {
  double main_spent = 0, worker_spent = 0;
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) work_of_main(&main_spent);
    else work_of_worker(&worker_spent);
  }
  printf("{\"work_of_main\": %.9f, \"work_of_worker\": %.9f}\n", main_spent, worker_spent);
  MPI_Finalize();
  return 0;
}

/* One cause of lost time at a time, planted by the thread's own CPU clock. Usage: findings_causes CAUSE ITERATIONS
   MICROSECONDS [BOOK] Each iteration all ranks compute for so long, pass something on to the next rank, and meet in a
   reduction. Each rank writes a book, the file BOOK/RANK.json: how long its iterations were to take, and have taken by
   the wall clock. Whether others have disturbed the run is seen from it. */
#include <mpi.h>
#include <refrain/refrain.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static double wall_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A row of the book: an iteration. */
struct row {
  double wall_s, planned_s; /* planned: computation and sleep; calls of MPI take the rest */
  double shortest_s;        /* the call that took least of those for small messages; 0: there are none */
};
static struct row current;
static volatile double sink;

static inline __attribute__((always_inline)) void burn(double seconds) {
  current.planned_s += seconds;
  for (const double end = cpu_now() + seconds; cpu_now() < end;)
    for (int i = 0; i < 300; ++i) sink += 1;
}
/* Compilers make one function of those with the same code, and a jump of a call that comes last. */
__attribute__((noinline)) static void relax(double seconds) {
  burn(seconds);
  sink += 1;
}
__attribute__((noinline)) static void refine(double seconds) {
  burn(seconds);
  sink += 2;
}
__attribute__((noinline)) static void write_output(double seconds) {
  burn(seconds);
  sink += 3;
}
__attribute__((noinline)) static void time_step(double* sum) {
  MPI_Allreduce(&sum[0], &sum[1], 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  sink += 4;
}
__attribute__((noinline)) static void potential(double* sum) {
  MPI_Allreduce(&sum[1], &sum[0], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  sink += 5;
}

static void write_column(FILE* file, const char* name, const struct row* rows, int count, size_t offset) {
  fprintf(file, ", \"%s\": [", name);
  for (int i = 0; i < count; ++i)
    fprintf(file, "%s%.9g", i > 0 ? ", " : "", *(const double*)((const char*)&rows[i] + offset));
  fprintf(file, "]");
}

static void write_book(const char* directory, int rank, double elapsed_s, const struct row* rows, int count) {
  char name[4096];
  snprintf(name, sizeof name, "%s/%d.json", directory, rank);
  FILE* const file = fopen(name, "w");
  if (!file) exit(1);
  fprintf(file, "{\"elapsed_s\": %.9g", elapsed_s);
  write_column(file, "wall_s", rows, count, offsetof(struct row, wall_s));
  write_column(file, "planned_s", rows, count, offsetof(struct row, planned_s));
  write_column(file, "shortest_s", rows, count, offsetof(struct row, shortest_s));
  fprintf(file, "}\n");
  if (fclose(file) != 0) exit(1);
}

int main(int argc, char** argv) {
  const double begin = wall_now();
  MPI_Init(&argc, &argv);
  const char* const cause = argc > 1 ? argv[1] : "none";
  const int iterations = argc > 2 ? atoi(argv[2]) : 200;
  const double seconds = (argc > 3 ? atof(argv[3]) : 2000) * 1e-6;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int is_last = rank == size - 1;
  double out[100] = {0}, in[100], sum[2] = {0};
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  struct row* const rows = calloc((size_t)iterations, sizeof *rows);
  if (!rows) return 1;
  REFRAIN_LOOP_BEGIN("step");
  for (int i = 0; i < iterations; ++i) {
    const double begin_of_iteration = wall_now();
    memset(&current, 0, sizeof current);
    REFRAIN_ITERATION_BEGIN();
    relax(seconds);
    if (!strcmp(cause, "late_rank") && is_last) refine(0.5 * seconds);
    if (!strcmp(cause, "moving") && rank == i * 6 / iterations % size) refine(0.5 * seconds);
    if (!strcmp(cause, "slow") && i % 20 == 7) write_output(4 * seconds);
    if (!strcmp(cause, "slow_rank") && i % 20 == 7 && is_last) write_output(4 * seconds);
    if (!strcmp(cause, "step") && i >= iterations / 3) refine(0.4 * seconds);
    if (!strcmp(cause, "growth")) refine(seconds * i / iterations);
    if (!strcmp(cause, "stretch") && i >= iterations * 2 / 5 && i < iterations * 3 / 5) refine(seconds);
    if (!strcmp(cause, "stairs")) refine(seconds * (i < iterations * 3 / 10 ? 0 : i < iterations * 7 / 10 ? 0.4 : 1));
    if (!strcmp(cause, "a_while") && is_last && i >= iterations * 2 / 5 && i < iterations * 3 / 5) refine(seconds);
    if (!strcmp(cause, "rare") && is_last && i == iterations / 3) write_output(150 * seconds);
    if (!strcmp(cause, "sleep") && is_last) {
      current.planned_s += 0.5 * seconds;
      usleep((useconds_t)(0.5e6 * seconds));
    }
    if (!strcmp(cause, "sites")) {
      if (rank == 0) refine(0.6 * seconds);
      time_step(sum);
      if (is_last) write_output(0.5 * seconds);
      potential(sum);
    }
    if (!strcmp(cause, "collective")) {
      MPI_Allreduce(&sum[0], &sum[1], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      if (is_last) refine(0.5 * seconds);
      MPI_Allreduce(&sum[0], &sum[1], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (!is_last) relax(0.5 * seconds);
    }
    if (!strcmp(cause, "messages"))
      for (int k = 0; k < 1000; ++k) {
        const double begin_of_call = wall_now();
        MPI_Sendrecv(out, 1, MPI_DOUBLE, next, 1, in, 1, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const double took_s = wall_now() - begin_of_call;
        if (k == 0 || took_s < current.shortest_s) current.shortest_s = took_s;
      }
    if (!strcmp(cause, "sender")) {
      if (is_last) {
        refine(0.5 * seconds);
        MPI_Send(out, 100, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
        relax(0.6 * seconds);
      } else if (rank == 0) {
        MPI_Recv(in, 100, MPI_DOUBLE, size - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        relax(0.6 * seconds);
      }
    }
    MPI_Sendrecv(out, 100, MPI_DOUBLE, next, 0, in, 100, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&sum[0], &sum[1], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    REFRAIN_ITERATION_END();
    current.wall_s = wall_now() - begin_of_iteration;
    rows[i] = current;
  }
  REFRAIN_LOOP_END();
  const double elapsed_s = wall_now() - begin;
  MPI_Finalize();
  if (argc > 4) write_book(argv[4], rank, elapsed_s, rows, iterations);
  free(rows);
  return 0;
}

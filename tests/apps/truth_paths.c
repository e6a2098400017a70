/* Spends 10, 30 and 60 % of its CPU time in three call paths and says by its own clocks how much it was.
 *
 *   truth_paths PHASE_MS CPU_SECONDS none|mpi|sleep
 *
 * Phases: tenth() for PHASE_MS, three_tenths() for 3, six_tenths() for 6 times as long, by the thread's CPU clock;
 * again until CPU_SECONDS are spent. Between two phases: nothing; a barrier for which rank 0 is late, by wall clock, on
 * every second one and the last rank on the others, so that somebody waits in MPI; or a sleep of half the phase.
 *
 * Every rank prints one line of JSON on stdout, in rank order: CPU seconds of each path, CPU and wall seconds of user
 * code, wall seconds in MPI calls, all between MPI_Init and MPI_Finalize, and wall seconds of MPI_Init.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATH __attribute__((noinline, noclone))

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static double cpu(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }
static double wall(void) { return seconds(CLOCK_MONOTONIC); }

static volatile double sink;
PATH static double spin(double s) {
  double begin = cpu(), now;
  do {
    for (int i = 0; i < 5000; ++i) sink += i;
    now = cpu();
  } while (now < begin + s);
  return now - begin;
}
PATH static void tenth(double unit, double* spent) { *spent += spin(unit); }
PATH static void three_tenths(double unit, double* spent) { *spent += spin(3 * unit); }
PATH static void six_tenths(double unit, double* spent) { *spent += spin(6 * unit); }

static double mpi_wall, mpi_cpu, idle_cpu;

PATH static void wait_in_mpi(void) {
  double w = wall(), c = cpu();
  MPI_Barrier(MPI_COMM_WORLD);
  mpi_wall += wall() - w;
  mpi_cpu += cpu() - c;
}

PATH static void be_late(double s) {
  double c = cpu(), end = wall() + s;
  while (wall() < end) sink += 1;
  idle_cpu += cpu() - c;
}

PATH static void between(const char* what, double unit, int turn, int rank, int ranks) {
  if (!strcmp(what, "mpi")) {
    if (rank == (turn % 2 ? ranks - 1 : 0)) be_late(unit);
    wait_in_mpi();
  } else if (!strcmp(what, "sleep")) {
    long ns = (long)(unit * 0.5e9);
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
  }
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  double unit = atof(argv[1]) * 1e-3, budget = atof(argv[2]), spent[3] = {0, 0, 0};
  const char* what = argv[3];
  int rank, ranks, turn = 0;
  double init = wall();
  MPI_Init(&argc, &argv);
  init = wall() - init;
  double begin_wall = wall(), begin_cpu = cpu();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int cycles = (int)(budget / (10 * unit) + 0.5); cycles > 0; --cycles) {
    tenth(unit, &spent[0]);
    between(what, unit, turn++, rank, ranks);
    three_tenths(unit, &spent[1]);
    between(what, unit, turn++, rank, ranks);
    six_tenths(unit, &spent[2]);
    between(what, unit, turn++, rank, ranks);
  }
  wait_in_mpi(); /* ranks have drifted apart; let the wait be in the books */
  double all_wall = wall() - begin_wall, all_cpu = cpu() - begin_cpu;
  char line[512], *lines = calloc((size_t)ranks, sizeof line);
  snprintf(line, sizeof line,
           "{\"rank\": %d, \"paths\": [%.9f, %.9f, %.9f], \"late\": %.9f, \"user_cpu\": %.9f, \"user_wall\": %.9f, "
           "\"mpi_wall\": %.9f, \"init_wall\": %.9f}",
           rank, spent[0], spent[1], spent[2], idle_cpu, all_cpu - mpi_cpu, all_wall - mpi_wall, mpi_wall, init);
  MPI_Gather(line, sizeof line, MPI_CHAR, lines, sizeof line, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0)
    for (int r = 0; r < ranks; ++r) puts(lines + (size_t)r * sizeof line);
  free(lines);
  MPI_Finalize();
  return 0;
}

/* Two ranks of which one comes late on purpose, by the wall clock: who waits, and how long, follows from when their
   calls began and ended, which each rank writes to FILE.<rank>: "function step begin end", seconds. With marks when the
   word "marked" is there. Usage: analyze_waits MODE STEPS DELAY FILE [marked] */
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct call {
  const char* function;
  int step;
  double begin, end;
};
static struct call* calls;
static int count;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void work_for(double seconds) {
  const double end = now() + seconds;
  while (now() < end) {
  }
}

#define TIMED(name, made)                                      \
  do {                                                         \
    const double begin_ = now();                               \
    made;                                                      \
    calls[count++] = (struct call){name, step, begin_, now()}; \
  } while (0)

static int rank, step;
static double delay;
static const char* mode;
static int is(const char* word) { return strcmp(mode, word) == 0; }

/* Every second step the one rank is late, else the other one. */
static int is_late(int who) { return rank == who && step % 2 == who; }

static void one_step(void) {
  double value[2] = {1, 2}, result[2];
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Status status;
  MPI_Request requests[2];
  TIMED("between", MPI_Barrier(world));
  if (is_late(0) || is_late(1)) work_for(delay);
  if (is("recv")) {
    if (rank == 0) TIMED("MPI_Send", MPI_Send(value, 1, MPI_DOUBLE, 1, 5, world));
    else TIMED("MPI_Recv", MPI_Recv(result, 1, MPI_DOUBLE, 0, 5, world, &status));
  } else if (is("waitall")) {
    if (rank == 0) {
      MPI_Isend(value, 1, MPI_DOUBLE, 1, 5, world, requests);
      work_for(delay / 2);
      TIMED("MPI_Isend", MPI_Isend(value, 1, MPI_DOUBLE, 1, 6, world, requests + 1));
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
      MPI_Irecv(result, 1, MPI_DOUBLE, 0, 5, world, requests);
      MPI_Irecv(result + 1, 1, MPI_DOUBLE, 0, 6, world, requests + 1);
      TIMED("MPI_Waitall", MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
  } else if (is("ssend")) {
    if (rank == 0) TIMED("MPI_Ssend", MPI_Ssend(value, 1, MPI_DOUBLE, 1, 5, world));
    else TIMED("MPI_Recv", MPI_Recv(result, 1, MPI_DOUBLE, 0, 5, world, &status));
  } else if (is("issend")) {
    if (rank == 0) {
      MPI_Issend(value, 1, MPI_DOUBLE, 1, 5, world, requests);
      TIMED("MPI_Wait", MPI_Wait(requests, &status));
    } else {
      TIMED("MPI_Irecv", MPI_Irecv(result, 1, MPI_DOUBLE, 0, 5, world, requests));
      MPI_Wait(requests, &status);
    }
  } else if (is("order")) {
    /* The second message is asked for first. */
    if (rank == 0) {
      MPI_Send(value, 1, MPI_DOUBLE, 1, 5, world);
      work_for(delay / 2);
      TIMED("MPI_Send", MPI_Send(value, 1, MPI_DOUBLE, 1, 6, world));
    } else {
      TIMED("MPI_Recv", MPI_Recv(result, 1, MPI_DOUBLE, 0, 6, world, &status));
      MPI_Recv(result, 1, MPI_DOUBLE, 0, 5, world, &status);
    }
  } else if (is("barrier")) {
    TIMED("MPI_Barrier", MPI_Barrier(world));
  } else if (is("ibarrier")) {
    MPI_Ibarrier(world, requests);
    TIMED("MPI_Wait", MPI_Wait(requests, &status));
  } else if (is("allreduce")) {
    TIMED("MPI_Allreduce", MPI_Allreduce(value, result, 1, MPI_DOUBLE, MPI_SUM, world));
  } else if (is("bcast")) {
    TIMED("MPI_Bcast", MPI_Bcast(value, 1, MPI_DOUBLE, 0, world));
  } else if (is("reduce")) {
    TIMED("MPI_Reduce", MPI_Reduce(value, result, 1, MPI_DOUBLE, MPI_SUM, 0, world));
  } else if (is("scan")) {
    TIMED("MPI_Scan", MPI_Scan(value, result, 1, MPI_DOUBLE, MPI_SUM, world));
  }
}

int main(int argc, char** argv) {
  if (argc < 5) return 1;
  mode = argv[1];
  const int steps = atoi(argv[2]), is_marked = argc > 5;
  delay = atof(argv[3]);
  calls = malloc(2 * (size_t)steps * sizeof *calls);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_marked) REFRAIN_LOOP_BEGIN("step");
  for (step = 0; step < steps; ++step) {
    if (is_marked) REFRAIN_ITERATION_BEGIN();
    one_step();
    if (is_marked) REFRAIN_ITERATION_END();
  }
  if (is_marked) REFRAIN_LOOP_END();
  MPI_Finalize();
  char name[4096];
  snprintf(name, sizeof name, "%s.%d", argv[4], rank);
  FILE* file = fopen(name, "w");
  if (!file) return 2;
  for (int i = 0; i < count; ++i)
    fprintf(file, "%s %d %.9f %.9f\n", calls[i].function, calls[i].step, calls[i].begin, calls[i].end);
  return fclose(file) == 0 ? 0 : 2;
}

/* Two ranks wait for each other where little is known of it: waits_known MODE STEPS SECONDS TIMES. A rank is late by
 * the wall clock. polling   rank 0 tests for a message of rank 1, which is late by so many seconds, until it is there
 *   wildcard  rank 0 waits for the second of two messages while a receive from any source is open, so that it gets no
 * sequence number; rank 1 is late in three of four steps always    the same rank is late each time: sender, receiver of
 * synchronous sends, root of a broadcast, sender of a reduction waves     wavefronts along the ranks and back, as in
 * Sweep3D; most waiting is at the first of 100 blocks. Seconds: of a block; 10 doubles each TIMES.RANK gets the begin
 * and end of each call that may wait: "function begin end". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct call {
  const char* what;
  double begin, end;
} * calls;
static long count;
static int rank;

static void be_late(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) {
  }
}

#define TIMED(function, ...)                                       \
  do {                                                             \
    const double begin = MPI_Wtime();                              \
    function(__VA_ARGS__);                                         \
    calls[count++] = (struct call){#function, begin, MPI_Wtime()}; \
  } while (0)

static void polling(int steps, double seconds) {
  for (int step = 0; step < steps; ++step) {
    int value = 0, is_there = 0;
    if (rank == 1) {
      be_late(seconds);
      TIMED(MPI_Send, &value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
      continue;
    }
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    const double begin = MPI_Wtime();
    while (!is_there) MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
    calls[count++] = (struct call){"MPI_Test", begin, MPI_Wtime()};
  }
}

static void wildcard(int steps, double seconds) {
  for (int step = 0; step < steps; ++step) {
    int values[2] = {0, 0};
    if (rank == 1) {
      MPI_Send(&values[0], 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
      if (step % 4 != 0) be_late(seconds);
      TIMED(MPI_Send, &values[1], 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
      MPI_Recv(values, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      continue;
    }
    MPI_Request any, second;
    MPI_Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &any);
    MPI_Irecv(&values[1], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &second);
    TIMED(MPI_Wait, &second, MPI_STATUS_IGNORE);
    MPI_Wait(&any, MPI_STATUS_IGNORE);
    MPI_Send(values, 0, MPI_INT, 1, 1, MPI_COMM_WORLD);
  }
}

static void always(int steps, double seconds) {
  int value = 0, sum = 0;
  for (int step = 0; step < steps; ++step) {
    if (rank == 0) {
      be_late(seconds);
      TIMED(MPI_Send, &value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else {
      TIMED(MPI_Recv, &value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  for (int step = 0; step < steps; ++step) {
    if (rank == 0) {
      be_late(seconds);
      TIMED(MPI_Recv, &value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      TIMED(MPI_Ssend, &value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
  }
  for (int step = 0; step < steps; ++step) {
    if (rank == 0) be_late(seconds);
    TIMED(MPI_Bcast, &value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  for (int step = 0; step < steps; ++step) {
    if (rank == 1) be_late(seconds);
    TIMED(MPI_Reduce, &value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  }
}

static void wave(int way, int blocks, double seconds) {
  enum { values = 10 };
  static double data[values];
  const int from = way ? rank + 1 : rank - 1, to = way ? rank - 1 : rank + 1;
  for (int block = 0; block < blocks; ++block) {
    if (from == 0 || from == 1) TIMED(MPI_Recv, data, values, MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    be_late(seconds);
    if (to == 0 || to == 1) TIMED(MPI_Send, data, values, MPI_DOUBLE, to, 0, MPI_COMM_WORLD);
  }
}

static void waves(int steps, double seconds) {
  enum { blocks = 100 };
  for (int step = 0; step < steps; ++step)
    for (int way = 0; way < 2; ++way) {
      /* The rank that begins is late, so the other one waits for its first block. */
      if (rank == way) be_late(blocks / 2 * seconds);
      wave(way, blocks, seconds);
    }
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int steps = atoi(argv[2]);
  const double seconds = atof(argv[3]);
  calls = malloc(sizeof *calls * ((size_t)steps * 512 + 16));
  if (!strcmp(argv[1], "polling")) polling(steps, seconds);
  else if (!strcmp(argv[1], "wildcard")) wildcard(steps, seconds);
  else if (!strcmp(argv[1], "always")) always(steps, seconds);
  else waves(steps, seconds);
  MPI_Finalize();
  char name[4096];
  snprintf(name, sizeof name, "%s.%d", argv[4], rank);
  FILE* times = fopen(name, "w");
  for (long i = 0; i < count; ++i) fprintf(times, "%s %.9f %.9f\n", calls[i].what, calls[i].begin, calls[i].end);
  return fclose(times) != 0;
}

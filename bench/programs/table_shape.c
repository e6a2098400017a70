/* Runs a marked loop with the shape of PEPC in Table I of Szebenyi, Wolf, Wylie, "Performance Analysis of Long-running
   Applications": it has 35 call paths to MPI, 31 call paths of user code, and a hot spot that moves from rank to rank
   and grows. Usage: table_shape ITERATIONS MICROSECONDS (of user code per iteration) */
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdlib.h>
#include <time.h>

enum { mpi_paths = 35, user_paths = 31, max_bytes = 1 << 16 };

static volatile int keep_frame;
static char out[max_bytes], in[max_bytes];
static int rank, size;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void communicate(unsigned path, long iteration) {
  if (path % 5 == 0) {
    double value = 1, sum;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return;
  }
  /* Half of the messages always have the same size; the size of the others varies with iteration and rank. */
  const int bytes = path % 2 ? 800 * (int)path : (int)(100 * path + (iteration * 7 + path * rank) % 5000);
  const int shift = 1 + (int)path % 3;
  MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + shift) % size, 0, in, max_bytes, MPI_BYTE,
               (rank + size - shift % size) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void work(unsigned path, double us) {
  (void)path;
  for (const double end = now_us() + us; now_us() < end;) {
  }
}

/* Has a call path of its own for each `path` below 2^depth. */
__attribute__((noinline)) static void descend(unsigned path, int depth, long iteration, double us) {
  if (depth == 0) {
    if (us > 0) work(path, us);
    else communicate(path, iteration);
  } else if (path >> (depth - 1) & 1) {
    descend(path, depth - 1, iteration, us);
    keep_frame = 1;
  } else {
    descend(path, depth - 1, iteration, us);
    keep_frame = 2;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long iterations = argc > 1 ? atol(argv[1]) : 1300;
  const double amount = argc > 2 ? atof(argv[2]) : 1000;
  REFRAIN_LOOP_BEGIN("timestep");
  for (long i = 0; i < iterations; ++i) {
    REFRAIN_ITERATION_BEGIN();
    const int hot = (int)(i * size / (4 * iterations)) % size;
    const double load = rank == hot ? 1.0 + (double)i / (double)iterations : 1.0;
    for (unsigned path = 0; path < user_paths; ++path)
      descend(path, 6, i, load * amount * (path + 1) / (user_paths * (user_paths + 1) / 2));
    for (unsigned path = 0; path < mpi_paths; ++path) descend(path, 6, i, 0);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  MPI_Finalize();
  return 0;
}

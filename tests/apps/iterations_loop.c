/* A marked loop whose iterations are known: iteration i lasts DURATION microseconds (every 50th five times as long) and
   moves 1000 * (i % 3 + 1) bytes; every 10th has a barrier. Rank 0 writes when each iteration ended (CLOCK_MONOTONIC,
   ns, u64) into LOG, which stays readable when the program is killed. Usage: iterations_loop ITERATIONS DURATION [LOG].
   SLOW_EVERY=n in the environment: iterations n / 2, n + n / 2, 2 n + n / 2, ... last 100 ms longer on rank 0.
   LATE=n in the environment: the last rank comes to MPI_Finalize n seconds after the others.
   Exit status 3: a mark has changed errno. Prints the peak of the resident set in KiB, after MPI_Finalize. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static volatile double x;
__attribute__((noinline)) static void work(double nanoseconds) {
  for (uint64_t end = now() + (uint64_t)nanoseconds; now() < end;) x += 1;
}

static long peak_kib(void) {
  char line[256];
  long kib = -1;
  FILE* f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f)) sscanf(line, "VmHWM: %ld", &kib);
  if (f) fclose(f);
  return kib;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long iterations = atol(argv[1]);
  const double duration = atof(argv[2]) * 1000;
  const long slow_every = getenv("SLOW_EVERY") ? atol(getenv("SLOW_EVERY")) : 0;
  uint64_t* log = NULL;
  if (argc > 3 && rank == 0) {
    const int fd = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || ftruncate(fd, iterations * 8) != 0) return 1;
    log = mmap(NULL, (size_t)iterations * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
  }
  static char out[4000], in[4000];
  REFRAIN_LOOP_BEGIN("step");
  int errno_kept = 1;
  for (long i = 0; i < iterations; ++i) {
    errno = 1234;
    REFRAIN_ITERATION_BEGIN();
    errno_kept &= errno == 1234;
    if (slow_every > 0 && i % slow_every == slow_every / 2 && rank == 0) work(1e8);
    if (duration > 0) work(i % 50 == 49 ? 5 * duration : duration);
    const int bytes = (int)(1000 * (i % 3 + 1));
    MPI_Sendrecv(out, bytes, MPI_BYTE, (rank + 1) % size, 0, in, bytes, MPI_BYTE, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (i % 10 == 0) MPI_Barrier(MPI_COMM_WORLD);
    errno = 1234;
    REFRAIN_ITERATION_END();
    errno_kept &= errno == 1234;
    if (log) log[i] = now();
  }
  REFRAIN_LOOP_END();
  if (getenv("LATE") && rank == size - 1) sleep((unsigned)atoi(getenv("LATE")));
  MPI_Finalize();
  if (rank == 0) printf("%ld\n", peak_kib());
  return errno_kept ? 0 : 3;
}

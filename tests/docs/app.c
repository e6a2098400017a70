/* Stands for the reader's own program in the documents. Each of 40 iterations of the loop "timestep" works for some
   milliseconds, sends a message to the right neighbor and puts 1,000 bytes into its window "halo"; every tenth (3, 13,
   ...) the function `assemble` touches 3,000 pages for the first time, 40 times over: so long that samples cannot miss
   it. Any number of ranks, any arguments. */
#define _GNU_SOURCE
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { steps = 40, page = 4096, pages = 3000, rounds = 40, bytes = 1000 };

static double cpu_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static volatile double sink;
__attribute__((noipa)) static void solve(void) {
  for (const double end = cpu_time() + 0.005; cpu_time() < end;)
    for (int i = 0; i < 1000; ++i) sink += i;
}

__attribute__((noipa)) static void assemble(void) {
  for (int round = 0; round < rounds; ++round) {
    volatile char* memory =
        mmap(NULL, (size_t)pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    madvise((void*)memory, (size_t)pages * page, MADV_NOHUGEPAGE);
    for (int i = 0; i < pages; ++i) memory[(size_t)i * page] = 1;
    munmap((void*)memory, (size_t)pages * page);
  }
}

static char out[bytes], in[bytes];

__attribute__((noipa)) static void exchange(MPI_Win window, int rank, int size) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Sendrecv(out, bytes, MPI_BYTE, right, 0, in, bytes, MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_fence(0, window);
  MPI_Put(out, bytes, MPI_BYTE, right, 0, bytes, MPI_BYTE, window);
  MPI_Win_fence(0, window);
}

int main(int argc, char** argv) {
  int rank, size;
  char* base;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  MPI_Win_set_name(window, "halo");
  REFRAIN_LOOP_BEGIN("timestep");
  for (int i = 0; i < steps; ++i) {
    REFRAIN_ITERATION_BEGIN();
    solve();
    if (i % 10 == 3) assemble();
    exchange(window, rank, size);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}

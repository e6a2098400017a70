/* Touches known numbers of fresh pages in known places. Each of ITERATIONS iterations of the loop "step" touches
   BASE pages in the function `touch_some`, and every 10th (i % 10 == 3) PEAK pages more in `touch_many`; the memory is
   given back, so that each of these is a page fault again. Iteration GROWS keeps GROWTH MiB that it has written in
   `grow`. Between rank and rank goes one message. Prints what rank 0 did, and whether libpapi is in the process.
   Usage: metrics_pages ITERATIONS BASE PEAK GROWS GROWTH */
#include <errno.h>
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { page = 4096 };

/* Pages of its own each time, none of them huge. */
static char* fresh(size_t pages) {
  if (pages == 0) return NULL;
  char* memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  madvise(memory, pages * page, MADV_NOHUGEPAGE);
  return memory;
}

__attribute__((noipa)) static void touch_some(volatile char* memory, size_t pages) {
  for (size_t i = 0; i < pages; ++i) memory[i * page] = 1;
}
__attribute__((noipa)) static void touch_many(volatile char* memory, size_t pages) {
  for (size_t i = 0; i < pages; ++i) memory[i * page] = 1;
}
__attribute__((noipa)) static void grow(volatile char* memory, size_t pages) {
  for (size_t i = 0; i < pages; ++i) memory[i * page] = 1;
}

static int has_papi(void) {
  char line[512];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) found |= strstr(line, "libpapi") != NULL;
  if (maps) fclose(maps);
  return found;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 6) MPI_Abort(MPI_COMM_WORLD, 2);
  const int iterations = atoi(argv[1]), grows = atoi(argv[4]);
  const size_t base = (size_t)atol(argv[2]), peak = (size_t)atol(argv[3]), growth = (size_t)atol(argv[5]) << 20;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int errno_kept = 1;
  const int papi = has_papi();
  static char out[1000], in[1000];
  REFRAIN_LOOP_BEGIN("step");
  for (int i = 0; i < iterations; ++i) {
    errno = 1234;
    REFRAIN_ITERATION_BEGIN();
    errno_kept &= errno == 1234;
    char* memory = fresh(base);
    touch_some(memory, base);
    munmap(memory, base * page);
    if (i % 10 == 3) {
      memory = fresh(peak);
      touch_many(memory, peak);
      if (peak > 0) munmap(memory, peak * page);
    }
    if (i == grows) grow(fresh(growth / page), growth / page);
    MPI_Sendrecv(out, sizeof out, MPI_BYTE, (rank + 1) % size, 0, in, sizeof in, MPI_BYTE, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    errno = 1234;
    REFRAIN_ITERATION_END();
    errno_kept &= errno == 1234;
  }
  REFRAIN_LOOP_END();
  if (rank == 0) printf("errno %s papi %d\n", errno_kept ? "kept" : "changed", papi);
  MPI_Finalize();
  return 0;
}

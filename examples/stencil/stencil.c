/* Heat conduction in a cube: Jacobi relaxation with a 3-D domain decomposition.
 *
 *   stencil [--size N] [--steps N] [--imbalance SWEEPS]
 *
 * One step = halo exchange of six faces, one sweep over the local block, one all-reduce of the residual.
 * Planted imbalance: the last rank repeats its sweep SWEEPS times more (default 4). A repeated sweep computes the same
 * values again, so the output does not depend on it; `--imbalance 0` removes it.
 *
 * The output is a function of size, steps and the number of ranks only: partial sums are kept per plane and added in a
 * fixed order, so the build with OpenMP (stencil_omp) prints the same digits as the one without.
 */
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

enum { DIMENSIONS = 3, FACES = 6 };

typedef struct {
  int size, steps, imbalance;
} Options;

/* A block of the grid with one layer of halo cells around it, index [z][y][x], x fastest. */
typedef struct {
  int n[DIMENSIONS];     /* interior cells in z, y, x */
  int first[DIMENSIONS]; /* global index of the first interior cell */
  double *now, *next;
  double* plane_sums; /* residual of each z plane */
} Block;

typedef struct {
  MPI_Comm grid;
  int rank, ranks;
  int neighbor[FACES]; /* low and high in z, low and high in y, low and high in x */
  MPI_Datatype send_face[FACES], receive_face[FACES];
} Topology;

static size_t row_length(const Block* b) { return (size_t)b->n[2] + 2; }
static size_t plane_length(const Block* b) { return ((size_t)b->n[1] + 2) * row_length(b); }
static size_t cells(const Block* b) { return ((size_t)b->n[0] + 2) * plane_length(b); }

static void fail(const char* what) {
  fprintf(stderr, "stencil: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static Options parse_options(int argc, char** argv) {
  Options o = {160, 200, 4};
  for (int i = 1; i < argc; i += 2) {
    int* target = !strcmp(argv[i], "--size")        ? &o.size
                  : !strcmp(argv[i], "--steps")     ? &o.steps
                  : !strcmp(argv[i], "--imbalance") ? &o.imbalance
                                                    : NULL;
    if (!target || i + 1 == argc) fail("usage: stencil [--size N] [--steps N] [--imbalance SWEEPS]");
    *target = atoi(argv[i + 1]);
  }
  if (o.size < 1 || o.steps < 0 || o.imbalance < 0) fail("size must be positive, steps and imbalance not negative");
  return o;
}

/* ---- set-up ---- */

NOINLINE static void make_topology(Topology* t, Block* b, int size) {
  int extent[DIMENSIONS] = {0, 0, 0}, periodic[DIMENSIONS] = {0, 0, 0}, at[DIMENSIONS];
  MPI_Comm_size(MPI_COMM_WORLD, &t->ranks);
  MPI_Dims_create(t->ranks, DIMENSIONS, extent);
  MPI_Cart_create(MPI_COMM_WORLD, DIMENSIONS, extent, periodic, 0, &t->grid);
  MPI_Comm_rank(t->grid, &t->rank);
  MPI_Cart_coords(t->grid, t->rank, DIMENSIONS, at);
  for (int d = 0; d < DIMENSIONS; ++d) {
    MPI_Cart_shift(t->grid, d, 1, &t->neighbor[2 * d], &t->neighbor[2 * d + 1]);
    b->first[d] = (int)((long)size * at[d] / extent[d]);
    b->n[d] = (int)((long)size * (at[d] + 1) / extent[d]) - b->first[d];
    if (b->n[d] < 1) fail("more ranks along one dimension than cells");
  }
}

/* One derived datatype per face and direction: the interior layer that is sent and the halo layer that is received. */
NOINLINE static void make_face_types(Topology* t, const Block* b) {
  int whole[DIMENSIONS], part[DIMENSIONS], start[DIMENSIONS];
  for (int f = 0; f < FACES; ++f) {
    int d = f / 2, high = f % 2;
    for (int k = 0; k < DIMENSIONS; ++k) whole[k] = b->n[k] + 2, part[k] = b->n[k], start[k] = 1;
    part[d] = 1;
    start[d] = high ? b->n[d] : 1;
    MPI_Type_create_subarray(DIMENSIONS, whole, part, start, MPI_ORDER_C, MPI_DOUBLE, &t->send_face[f]);
    start[d] = high ? b->n[d] + 1 : 0;
    MPI_Type_create_subarray(DIMENSIONS, whole, part, start, MPI_ORDER_C, MPI_DOUBLE, &t->receive_face[f]);
    MPI_Type_commit(&t->send_face[f]);
    MPI_Type_commit(&t->receive_face[f]);
  }
}

/* Cold inside, hot at the global boundary z = -1, a smooth bump in the middle. */
NOINLINE static void initialize(Block* b, int size) {
  b->now = calloc(cells(b), sizeof *b->now);
  b->next = calloc(cells(b), sizeof *b->next);
  b->plane_sums = calloc((size_t)b->n[0], sizeof *b->plane_sums);
  if (!b->now || !b->next || !b->plane_sums) fail("out of memory");
  for (int z = 0; z <= b->n[0] + 1; ++z)
    for (int y = 0; y <= b->n[1] + 1; ++y)
      for (int x = 0; x <= b->n[2] + 1; ++x) {
        int gz = b->first[0] + z - 1, gy = b->first[1] + y - 1, gx = b->first[2] + x - 1;
        double value = 0;
        if (gz < 0) value = 1;
        else if (gz < size && gy >= 0 && gy < size && gx >= 0 && gx < size)
          value = (double)(gz + 1) * (size - gz) * (gy + 1) * (size - gy) * (gx + 1) * (size - gx) /
                  ((double)size * size * size * size * size * size);
        size_t i = (size_t)z * plane_length(b) + (size_t)y * row_length(b) + (size_t)x;
        b->now[i] = b->next[i] = value;
      }
}

/* ---- one step ---- */

NOINLINE static void exchange_halo(const Topology* t, double* field) {
  MPI_Request requests[2 * FACES];
  for (int f = 0; f < FACES; ++f) MPI_Irecv(field, 1, t->receive_face[f], t->neighbor[f], f, t->grid, &requests[f]);
  for (int f = 0; f < FACES; ++f) /* what leaves through my low face arrives at the neighbor's high face */
    MPI_Isend(field, 1, t->send_face[f], t->neighbor[f], f ^ 1, t->grid, &requests[FACES + f]);
  MPI_Waitall(2 * FACES, requests, MPI_STATUSES_IGNORE);
}

static double relax_plane(const Block* b, int z) {
  const size_t row = row_length(b), plane = plane_length(b);
  double sum = 0;
  for (int y = 1; y <= b->n[1]; ++y) {
    const double* c = b->now + (size_t)z * plane + (size_t)y * row;
    double* out = b->next + (size_t)z * plane + (size_t)y * row;
    for (int x = 1; x <= b->n[2]; ++x) {
      double v = (c[x - 1] + c[x + 1] + c[x - row] + c[x + row] + c[x - plane] + c[x + plane]) / 6;
      double change = v - c[x];
      out[x] = v;
      sum += change * change;
    }
  }
  return sum;
}

NOINLINE static void sweep(Block* b) {
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
  for (int z = 1; z <= b->n[0]; ++z) b->plane_sums[z - 1] = relax_plane(b, z);
}

NOINLINE static void extra_sweeps(Block* b, int count) {
  for (int i = 0; i < count; ++i) sweep(b);
}

NOINLINE static double global_residual(const Topology* t, const Block* b) {
  double local = 0, global;
  for (int z = 0; z < b->n[0]; ++z) local += b->plane_sums[z];
  MPI_Allreduce(&local, &global, 1, MPI_DOUBLE, MPI_SUM, t->grid);
  return global;
}

NOINLINE static double step(const Topology* t, Block* b, int imbalance) {
  exchange_halo(t, b->now);
  sweep(b);
  if (t->rank == t->ranks - 1) extra_sweeps(b, imbalance);
  double residual = global_residual(t, b);
  double* swap = b->now;
  b->now = b->next;
  b->next = swap;
  return residual;
}

/* ---- result ---- */

/* The sum of all cells, added rank by rank in rank order: the same digits in every run. */
NOINLINE static double checksum(const Topology* t, const Block* b) {
  double local = 0, total = 0, *all = calloc((size_t)t->ranks, sizeof *all);
  if (!all) fail("out of memory");
  for (int z = 1; z <= b->n[0]; ++z)
    for (int y = 1; y <= b->n[1]; ++y)
      for (int x = 1; x <= b->n[2]; ++x)
        local += b->now[(size_t)z * plane_length(b) + (size_t)y * row_length(b) + (size_t)x];
  MPI_Gather(&local, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, t->grid);
  for (int r = 0; r < t->ranks; ++r) total += all[r];
  free(all);
  return total;
}

static void clean_up(Topology* t, Block* b) {
  for (int f = 0; f < FACES; ++f) {
    MPI_Type_free(&t->send_face[f]);
    MPI_Type_free(&t->receive_face[f]);
  }
  MPI_Comm_free(&t->grid);
  free(b->now);
  free(b->next);
  free(b->plane_sums);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  Options options = parse_options(argc, argv);
  Topology topology;
  Block block;
  make_topology(&topology, &block, options.size);
  make_face_types(&topology, &block);
  initialize(&block, options.size);

  double residual = 0;
  REFRAIN_LOOP_BEGIN("timestep");
  for (int s = 0; s < options.steps; ++s) {
    REFRAIN_ITERATION_BEGIN();
    residual = step(&topology, &block, options.imbalance);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();

  double sum = checksum(&topology, &block);
  if (topology.rank == 0)
    printf("stencil size=%d steps=%d ranks=%d residual=%.17g checksum=%.17g\n", options.size, options.steps,
           topology.ranks, residual, sum);
  clean_up(&topology, &block);
  MPI_Finalize();
  return 0;
}

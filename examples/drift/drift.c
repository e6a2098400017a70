/* A cloud drifts across a ring of cells: each rank has a slab of them, and where the cloud is there is more to compute.
 *
 *   drift [--cells N] [--steps N] [--imbalance WORK] [--start STEP]
 *
 * One step = exchange of one cell with both neighbors, transport of all cells, chemistry in the cells, and every tenth
 * step an all-gather for the total.
 *
 * Planted hot spot: from step STEP on (default a quarter of the run) the cloud costs WORK (default 40) more rounds of
 * chemistry in each of its cells. Its center goes once around the ring in the rest of the run, so that the hot spot
 * moves from the first rank to the last. Before, all steps and ranks are alike. The rounds change nothing: the output
 * does not depend on them, and `--imbalance 0` removes them.
 */
#include <math.h>
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

typedef struct {
  int cells, steps, imbalance, start;
} Options;

typedef struct {
  int rank, ranks, left, right;
  int first, count;   /* own cells */
  double *now, *next; /* with a halo cell at either end: [0, count + 1] */
} Slab;

static void fail(const char* what) {
  fprintf(stderr, "drift: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static Options parse_options(int argc, char** argv) {
  Options o = {40000, 400, 40, -1};
  for (int i = 1; i < argc; i += 2) {
    int* target = !strcmp(argv[i], "--cells")       ? &o.cells
                  : !strcmp(argv[i], "--steps")     ? &o.steps
                  : !strcmp(argv[i], "--imbalance") ? &o.imbalance
                  : !strcmp(argv[i], "--start")     ? &o.start
                                                    : NULL;
    if (!target || i + 1 == argc) fail("usage: drift [--cells N] [--steps N] [--imbalance WORK] [--start STEP]");
    *target = atoi(argv[i + 1]);
  }
  if (o.start < 0) o.start = o.steps / 4;
  if (o.cells < 1 || o.steps < 0 || o.imbalance < 0) fail("cells must be positive, steps and imbalance not negative");
  return o;
}

static void make_slab(Slab* s, int cells) {
  MPI_Comm_rank(MPI_COMM_WORLD, &s->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &s->ranks);
  if (cells < s->ranks) fail("fewer cells than ranks");
  s->left = (s->rank + s->ranks - 1) % s->ranks;
  s->right = (s->rank + 1) % s->ranks;
  s->first = (int)((long)cells * s->rank / s->ranks);
  s->count = (int)((long)cells * (s->rank + 1) / s->ranks) - s->first;
  s->now = calloc((size_t)s->count + 2, sizeof *s->now);
  s->next = calloc((size_t)s->count + 2, sizeof *s->next);
  if (!s->now || !s->next) fail("out of memory");
  for (int i = 1; i <= s->count; ++i) s->now[i] = 1 + sin(6.283185307179586 * (s->first + i - 1) / cells);
}

NOINLINE static void exchange(Slab* s) {
  MPI_Sendrecv(&s->now[s->count], 1, MPI_DOUBLE, s->right, 0, &s->now[0], 1, MPI_DOUBLE, s->left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(&s->now[1], 1, MPI_DOUBLE, s->left, 1, &s->now[s->count + 1], 1, MPI_DOUBLE, s->right, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

NOINLINE static void transport(Slab* s) {
  for (int i = 1; i <= s->count; ++i) s->next[i] = s->now[i] - 0.4 * (s->now[i] - s->now[i - 1]);
  double* swap = s->now;
  s->now = s->next;
  s->next = swap;
}

/* One round in a cell. The result depends on the cell only, however often the round is repeated. */
static double react(double value) {
  double x = value;
  for (int k = 0; k < 20; ++k) x = 0.5 * (x + (value + 1) / (x + 1));
  return value + 1e-9 * (x - value);
}

NOINLINE static void chemistry(Slab* s) {
  for (int i = 1; i <= s->count; ++i) s->now[i] = react(s->now[i]);
}

/* The planted work: WORK more rounds in the cells near the center of the cloud. */
NOINLINE static void chemistry_in_cloud(Slab* s, int cells, int center, int rounds) {
  const int radius = cells / 16 + 1;
  volatile double nothing = 0;
  for (int i = 0; i < s->count; ++i) {
    int away = abs(s->first + i - center);
    if (away > cells / 2) away = cells - away;
    if (away > radius) continue;
    for (int k = 0; k < rounds; ++k) nothing = react(s->now[i + 1] + k);
  }
  (void)nothing;
}

NOINLINE static void step(Slab* s, const Options* o, int t) {
  exchange(s);
  transport(s);
  REFRAIN_REGION_BEGIN("chemistry");
  chemistry(s);
  if (t >= o->start && o->imbalance > 0) {
    const int center = (int)((long)o->cells * (t - o->start) / (o->steps - o->start));
    chemistry_in_cloud(s, o->cells, center, o->imbalance);
  }
  REFRAIN_REGION_END("chemistry");
}

NOINLINE static double total(const Slab* s) {
  double local = 0, sum = 0, *all = calloc((size_t)s->ranks, sizeof *all);
  if (!all) fail("out of memory");
  for (int i = 1; i <= s->count; ++i) local += s->now[i];
  MPI_Allgather(&local, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int r = 0; r < s->ranks; ++r) sum += all[r]; /* in rank order: the same digits in every run */
  free(all);
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Options options = parse_options(argc, argv);
  Slab slab;
  make_slab(&slab, options.cells);

  REFRAIN_LOOP_BEGIN("timestep");
  for (int t = 0; t < options.steps; ++t) {
    REFRAIN_ITERATION_BEGIN();
    step(&slab, &options, t);
    if (t % 10 == 9) total(&slab);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();

  const double sum = total(&slab);
  if (slab.rank == 0)
    printf("drift cells=%d steps=%d ranks=%d total=%.17g\n", options.cells, options.steps, slab.ranks, sum);
  free(slab.now);
  free(slab.next);
  MPI_Finalize();
  return 0;
}

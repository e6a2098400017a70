/* Kernels that resemble well-known codes and whose ranks wait for each other in different ways. Usage:
 *   kernels KERNEL [STEPS [MICROSECONDS]]
 *   pipeline   blocking messages along the ranks, as in LU
 *   halo       Irecv, Isend, Waitall with both neighbors, as in BT and SP
 *   buffers    the same, but each message is received a step after it was sent
 *   dots       a halo and two small reductions, as in CG
 *   alltoall   an MPI_Alltoall, as in FT
 *   master     rank 0 hands out tasks and takes results from any rank
 *   drift      a halo and a reduction; another rank slowly becomes the one with the most work
 *   wavefront  blocks that travel along the ranks and back, as in Sweep3D
 *   persistent a halo with persistent requests
 *   groups     reductions over every second rank, and over all ranks
 *   constant   a halo; the first rank always has the most work
 *   tested     a halo; calls MPI_Waitall only if MPI_Testall did not find all requests complete
 * In a step each rank computes for some microseconds of wall-clock time, which differ between ranks. In every 2nd,
 * 10th, 16th and 50th step, one rank each computes longer. */
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { values = 1024, tasks = 4 };
static int rank, size;
static int steps = 2000;
static double microseconds = 60;
static double own[values], to_left[values], to_right[values], from_left[2][values], from_right[2][values];
static double *spread, *gathered;

static double fraction(unsigned long seed) {
  seed ^= seed >> 33;
  seed *= 0xff51afd7ed558ccdUL;
  seed ^= seed >> 33;
  seed *= 0xc4ceb9fe1a85ec53UL;
  return (double)((seed ^ seed >> 33) >> 11) / (double)(1UL << 53);
}

static __attribute__((noinline)) void compute(double us) {
  const double end = MPI_Wtime() + us * 1e-6;
  while (MPI_Wtime() < end)
    for (int i = 0; i < values; ++i) own[i] = own[i] * 0.999 + 1;
}

static __attribute__((noinline)) void special(int step) {
  static const struct {
    int period;
    double times;
  } all[] = {{2, 0.3}, {10, 2}, {16, 3}, {50, 15}};
  for (int i = 0; i < 4; ++i)
    if (step % all[i].period == 0 && rank == i % size) compute(all[i].times * microseconds);
}

static void work(int step, double weight) {
  compute(weight * microseconds * (0.5 + fraction((unsigned long)step * 64 + (unsigned long)rank)));
  special(step);
}

static int neighbor(int distance) {
  const int other = rank + distance;
  return other < 0 || other >= size ? MPI_PROC_NULL : other;
}

static __attribute__((noinline)) void exchange(void) {
  MPI_Request all[4];
  MPI_Irecv(from_left[0], values, MPI_DOUBLE, neighbor(-1), 1, MPI_COMM_WORLD, &all[0]);
  MPI_Irecv(from_right[0], values, MPI_DOUBLE, neighbor(1), 2, MPI_COMM_WORLD, &all[1]);
  MPI_Isend(to_right, values, MPI_DOUBLE, neighbor(1), 1, MPI_COMM_WORLD, &all[2]);
  MPI_Isend(to_left, values, MPI_DOUBLE, neighbor(-1), 2, MPI_COMM_WORLD, &all[3]);
  MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
}

static __attribute__((noinline)) void reduce(void) {
  double sum = own[0], all = 0;
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void pipeline(int step) {
  MPI_Recv(from_left[0], values, MPI_DOUBLE, neighbor(-1), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  work(step, 1);
  MPI_Send(to_right, values, MPI_DOUBLE, neighbor(1), 0, MPI_COMM_WORLD);
  MPI_Recv(from_right[0], values, MPI_DOUBLE, neighbor(1), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  compute(microseconds / 2);
  MPI_Send(to_left, values, MPI_DOUBLE, neighbor(-1), 1, MPI_COMM_WORLD);
}

static void halo(int step) {
  work(step, 1);
  exchange();
}

static MPI_Request in[2][2], out[2];

static void post(int buffer) {
  MPI_Irecv(from_left[buffer], values, MPI_DOUBLE, neighbor(-1), 1, MPI_COMM_WORLD, &in[buffer][0]);
  MPI_Irecv(from_right[buffer], values, MPI_DOUBLE, neighbor(1), 2, MPI_COMM_WORLD, &in[buffer][1]);
}

static void begin_sends(void) {
  MPI_Isend(to_right, values, MPI_DOUBLE, neighbor(1), 1, MPI_COMM_WORLD, &out[0]);
  MPI_Isend(to_left, values, MPI_DOUBLE, neighbor(-1), 2, MPI_COMM_WORLD, &out[1]);
}

/* Messages sent in one step are received in the next one. */
static void buffers(int step) {
  const int now = step % 2;
  if (step == 0) {
    post(now);
    begin_sends();
  }
  post(1 - now);
  work(step, 1);
  MPI_Waitall(2, in[now], MPI_STATUSES_IGNORE);
  MPI_Waitall(2, out, MPI_STATUSES_IGNORE);
  begin_sends();
}

static void end_buffers(void) {
  MPI_Waitall(2, in[steps % 2], MPI_STATUSES_IGNORE);
  MPI_Waitall(2, out, MPI_STATUSES_IGNORE);
}

static void dots(int step) {
  work(step, 0.6);
  exchange();
  compute(0.2 * microseconds);
  reduce();
  compute(0.2 * microseconds);
  reduce();
}

static void alltoall(int step) {
  work(step, 1);
  MPI_Alltoall(spread, values, MPI_DOUBLE, gathered, values, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void master(int step) {
  if (rank == 0) {
    MPI_Status status;
    const int all = tasks * (size - 1);
    for (int task = 0; task < size - 1; ++task) MPI_Send(own, values, MPI_DOUBLE, task + 1, 1, MPI_COMM_WORLD);
    for (int task = size - 1; task < all + size - 1; ++task) {
      MPI_Recv(from_left[0], values, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      compute(microseconds / 10);
      MPI_Send(own, task < all ? values : 0, MPI_DOUBLE, status.MPI_SOURCE, task < all, MPI_COMM_WORLD);
    }
  } else {
    for (int task = 0;; ++task) {
      MPI_Status status;
      MPI_Recv(from_left[0], values, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      if (status.MPI_TAG == 0) break;
      if (task == 0) work(step, 1);
      else compute(microseconds * fraction((unsigned long)(step * tasks + task) * 64 + (unsigned long)rank));
      MPI_Send(own, values, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    }
  }
}

static void wavefront(int step) {
  enum { blocks = 4, bytes = values / blocks };
  for (int way = 0; way < 2; ++way)
    for (int block = 0; block < blocks; ++block) {
      const int from = neighbor(way == 0 ? -1 : 1), to = neighbor(way == 0 ? 1 : -1);
      MPI_Recv(from_left[way], bytes, MPI_DOUBLE, from, block, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      compute(microseconds / blocks / 2 *
              (0.5 + fraction((unsigned long)((step * 2 + way) * blocks + block) * 64 + (unsigned long)rank)));
      MPI_Send(to_right, bytes, MPI_DOUBLE, to, block, MPI_COMM_WORLD);
    }
  special(step);
}

static MPI_Request kept[4];

static void persistent(int step) {
  if (step == 0) {
    MPI_Recv_init(from_left[0], values, MPI_DOUBLE, neighbor(-1), 1, MPI_COMM_WORLD, &kept[0]);
    MPI_Recv_init(from_right[0], values, MPI_DOUBLE, neighbor(1), 2, MPI_COMM_WORLD, &kept[1]);
    MPI_Send_init(to_right, values, MPI_DOUBLE, neighbor(1), 1, MPI_COMM_WORLD, &kept[2]);
    MPI_Send_init(to_left, values, MPI_DOUBLE, neighbor(-1), 2, MPI_COMM_WORLD, &kept[3]);
  }
  work(step, 1);
  MPI_Startall(4, kept);
  MPI_Waitall(4, kept, MPI_STATUSES_IGNORE);
}

static void end_persistent(void) {
  for (int i = 0; i < 4; ++i) MPI_Request_free(&kept[i]);
}

static MPI_Comm half;

static void groups(int step) {
  if (step == 0) MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  double sum = own[0], all = 0;
  work(step, 0.7);
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, half);
  work(step + steps, 0.3);
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void constant(int step) {
  if (rank == 0) compute(microseconds);
  work(step, 0.5);
  exchange();
}

static void tested(int step) {
  work(step, 1);
  MPI_Request all[4];
  int complete = 0;
  MPI_Irecv(from_left[0], values, MPI_DOUBLE, neighbor(-1), 1, MPI_COMM_WORLD, &all[0]);
  MPI_Irecv(from_right[0], values, MPI_DOUBLE, neighbor(1), 2, MPI_COMM_WORLD, &all[1]);
  MPI_Isend(to_right, values, MPI_DOUBLE, neighbor(1), 1, MPI_COMM_WORLD, &all[2]);
  MPI_Isend(to_left, values, MPI_DOUBLE, neighbor(-1), 2, MPI_COMM_WORLD, &all[3]);
  MPI_Testall(4, all, &complete, MPI_STATUSES_IGNORE);
  if (!complete) MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
}

static void drift(int step) {
  const double turn = (double)step / steps * size;
  const double near = (double)((rank + 1) % size) - turn, distance = near < 0 ? -near : near;
  compute(distance < 1 ? (1 - distance) * microseconds : 0);
  work(step, 0.7);
  exchange();
  reduce();
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*step)(int);
  } kernels[] = {{"pipeline", pipeline},     {"halo", halo},     {"buffers", buffers},   {"dots", dots},
                 {"alltoall", alltoall},     {"master", master}, {"drift", drift},       {"wavefront", wavefront},
                 {"persistent", persistent}, {"groups", groups}, {"constant", constant}, {"tested", tested}};
  const int count = (int)(sizeof kernels / sizeof kernels[0]);
  int kernel = 0;
  while (kernel < count && (argc < 2 || strcmp(argv[1], kernels[kernel].name) != 0)) ++kernel;
  if (kernel == count) {
    fprintf(stderr, "usage: kernels KERNEL [STEPS [MICROSECONDS]]; the kernels:");
    for (int i = 0; i < count; ++i) fprintf(stderr, " %s", kernels[i].name);
    fputc('\n', stderr);
    return 1;
  }
  if (argc > 2) steps = atoi(argv[2]);
  if (argc > 3) microseconds = atof(argv[3]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  spread = calloc((size_t)(size * values), sizeof(double));
  gathered = calloc((size_t)(size * values), sizeof(double));
  MPI_Barrier(MPI_COMM_WORLD);
  REFRAIN_LOOP_BEGIN("steps");
  for (int step = 0; step < steps; ++step) {
    REFRAIN_ITERATION_BEGIN();
    kernels[kernel].step(step);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  if (kernels[kernel].step == buffers) end_buffers();
  if (kernels[kernel].step == persistent) end_persistent();
  MPI_Finalize();
  free(spread);
  free(gathered);
  return 0;
}

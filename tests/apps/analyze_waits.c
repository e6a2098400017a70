/* Two ranks of which one comes late on purpose, by the wall clock: who waits, and how long, follows from when their
   calls began and ended, which each rank writes to FILE.<rank>: "function step begin end", seconds. With marks when the
   word "marked" is there; with "apart" nothing is between the steps, and rank 0 is late in all of them, also where
   rank 1 is; with "abandoned" rank 1 asks for one more message after the steps, and rank 0 ends the job after 2 seconds
   without any. Usage: analyze_waits MODE STEPS DELAY FILE [marked|apart|abandoned] */
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
static int is_apart;
static int is_late(int who) { return rank == who && (is_apart ? who == 0 : step % 2 == who); }

/* A message is received one step after it was sent: rank 1 waits for it where rank 0 has had much to do. The step of a
   call is that of the receive. */
static double buffer[2];
static MPI_Request in;

static void receive_last(void) {
  if (rank == 1 && step > 0) TIMED("MPI_Wait", MPI_Wait(&in, MPI_STATUS_IGNORE));
}

static void one_step_of_buffers(void) {
  receive_last();
  if (rank == 1) {
    MPI_Irecv(buffer + step % 2, 1, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, &in);
    return;
  }
  if (step % 2 == 0) work_for(delay);
  const double begin = now();
  MPI_Send(buffer, 1, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD);
  calls[count++] = (struct call){"MPI_Send", step + 1, begin, now()};
}

/* One-sided: the ranks have memory in a window. */
static MPI_Win window;
static MPI_Group other;

static void put(int to) {
  static const double one = 1;
  TIMED("MPI_Put", MPI_Put(&one, 1, MPI_DOUBLE, to, 0, 1, MPI_DOUBLE, window));
}

/* Rank 1 exposes its memory, late in odd steps. Rank 0 ends its access late in even ones. */
static void one_step_of_epochs(void) {
  if (rank == 0) {
    TIMED("MPI_Win_start", MPI_Win_start(other, 0, window));
    put(1);
    if (step % 2 == 0) work_for(delay);
    TIMED("MPI_Win_complete", MPI_Win_complete(window));
  } else {
    if (step % 2 == 1) work_for(delay);
    TIMED("MPI_Win_post", MPI_Win_post(other, 0, window));
    TIMED("MPI_Win_wait", MPI_Win_wait(window));
  }
}

/* Both lock the memory of rank 0; the one that is first, by turns, for a while. */
static void one_step_of_locks(void) {
  const int is_first = rank == step % 2;
  if (!is_first) work_for(delay / 4);
  TIMED("MPI_Win_lock", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
  put(0);
  TIMED("MPI_Win_flush", MPI_Win_flush(0, window));
  if (is_first) work_for(delay);
  TIMED("MPI_Win_unlock", MPI_Win_unlock(0, window));
}

/* Rank 0 sends; rank 1 has posted the receive and completes it with each of the functions that can. */
static MPI_Request kept;

static void one_step_of_requests(void) {
  double value = 1, result;
  if (rank == 0) {
    TIMED("MPI_Send", MPI_Send(&value, 1, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD));
    return;
  }
  int index, completed;
  MPI_Request request;
  if (is("persistent")) {
    static double into;
    if (step == 0) MPI_Recv_init(&into, 1, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, &kept);
    MPI_Start(&kept);
    TIMED("MPI_Wait", MPI_Wait(&kept, MPI_STATUS_IGNORE));
    return;
  }
  if (is("mrecv")) {
    MPI_Message message;
    TIMED("MPI_Mprobe", MPI_Mprobe(0, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    MPI_Mrecv(&result, 1, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
    return;
  }
  MPI_Irecv(&result, 1, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, &request);
  if (is("waitany")) TIMED("MPI_Waitany", MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE));
  else TIMED("MPI_Waitsome", MPI_Waitsome(1, &request, &completed, &index, MPI_STATUSES_IGNORE));
}

/* So large that its sender waits until it is received. */
static void one_step_of_large(void) {
  enum { doubles = 1 << 19 };
  static double* large;
  if (!large) large = calloc(doubles, sizeof *large);
  if (rank == 0) TIMED("MPI_Send", MPI_Send(large, doubles, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD));
  else TIMED("MPI_Recv", MPI_Recv(large, doubles, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void make_window(void) {
  double* memory;
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Group all;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, (const int[]){1 - rank}, &other);
  MPI_Group_free(&all);
  if (is("fence")) MPI_Win_fence(0, window);
}

static void free_window(void) {
  if (is("fence")) MPI_Win_fence(0, window);
  MPI_Group_free(&other);
  MPI_Win_free(&window);
}

static void one_step(void) {
  if (is("buffers")) {
    one_step_of_buffers();
    return;
  }
  double value[2] = {1, 2}, result[2];
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Status status;
  MPI_Request requests[2];
  if (!is_apart) TIMED("between", MPI_Barrier(world));
  if (is("epochs")) {
    one_step_of_epochs();
    return;
  }
  if (is("locks")) {
    one_step_of_locks();
    return;
  }
  if (is_late(0) || is_late(1)) work_for(delay);
  if (is("persistent") || is("mrecv") || is("waitany") || is("waitsome")) {
    one_step_of_requests();
  } else if (is("large")) {
    one_step_of_large();
  } else if (is("sendrecv")) {
    TIMED("MPI_Sendrecv",
          MPI_Sendrecv(value, 1, MPI_DOUBLE, 1 - rank, 5, result, 1, MPI_DOUBLE, 1 - rank, 5, world, &status));
  } else if (is("recv")) {
    if (rank == 0) TIMED("MPI_Send", (is_apart ? MPI_Ssend : MPI_Send)(value, 1, MPI_DOUBLE, 1, 5, world));
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
  } else if (is("fence")) {
    TIMED("MPI_Win_fence", MPI_Win_fence(0, window));
    if (rank == 0) put(1);
  } else if (is("ibarrier")) {
    MPI_Ibarrier(world, requests);
    TIMED("MPI_Wait", MPI_Wait(requests, &status));
  } else if (is("allreduce")) {
    TIMED("MPI_Allreduce", MPI_Allreduce(value, result, 1, MPI_DOUBLE, MPI_SUM, world));
  } else if (is("bcast")) {
    TIMED("MPI_Bcast", MPI_Bcast(value, 1, MPI_DOUBLE, 0, world));
  } else if (is("reduce")) {
    TIMED("MPI_Reduce", MPI_Reduce(value, result, 1, MPI_DOUBLE, MPI_SUM, 0, world));
  } else if (is("gather")) {
    TIMED("MPI_Gather", MPI_Gather(value, 1, MPI_DOUBLE, result, 1, MPI_DOUBLE, 0, world));
  } else if (is("scatter")) {
    TIMED("MPI_Scatter", MPI_Scatter(value, 1, MPI_DOUBLE, result, 1, MPI_DOUBLE, 0, world));
  } else if (is("scan")) {
    TIMED("MPI_Scan", MPI_Scan(value, result, 1, MPI_DOUBLE, MPI_SUM, world));
  }
}

static void abandon(void) {
  double value;
  if (rank == 1) {
    MPI_Recv(&value, 1, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  work_for(2);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

int main(int argc, char** argv) {
  if (argc < 5) return 1;
  mode = argv[1];
  const char* word = argc > 5 ? argv[5] : "";
  const int steps = atoi(argv[2]), is_marked = strcmp(word, "marked") == 0;
  is_apart = strcmp(word, "apart") == 0;
  delay = atof(argv[3]);
  calls = malloc((5 * (size_t)steps + 8) * sizeof *calls);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int is_one_sided = is("fence") || is("epochs") || is("locks");
  if (is_one_sided) make_window();
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_marked) REFRAIN_LOOP_BEGIN("step");
  for (step = 0; step < steps; ++step) {
    if (is_marked) REFRAIN_ITERATION_BEGIN();
    one_step();
    if (is_marked) REFRAIN_ITERATION_END();
  }
  if (is_marked) REFRAIN_LOOP_END();
  if (is("buffers")) receive_last();
  if (strcmp(word, "abandoned") == 0) abandon();
  if (is("persistent") && rank == 1) MPI_Request_free(&kept);
  if (is_one_sided) free_window();
  MPI_Finalize();
  char name[4096];
  snprintf(name, sizeof name, "%s.%d", argv[4], rank);
  FILE* file = fopen(name, "w");
  if (!file) return 2;
  for (int i = 0; i < count; ++i)
    fprintf(file, "%s %d %.9f %.9f\n", calls[i].function, calls[i].step, calls[i].begin, calls[i].end);
  return fclose(file) == 0 ? 0 : 2;
}

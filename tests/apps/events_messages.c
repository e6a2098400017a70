/* Messages that carry serial numbers, in a marked loop. Usage: events_messages MODE ITERATIONS LOG
   Each rank writes to LOG.<rank> what it has done, one line each, in the order of its events: "S thread iteration
   serial" for a send, "R thread iteration serial" for a receive that is complete. */
#include <mpi.h>
#include <pthread.h>
#include <refrain/refrain.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64, WORDS = 8 };
typedef int64_t Message[WORDS];

static int rank, size, left, right;
static long iteration = -1;
static FILE* file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t serials;
static __thread int thread;
static int hidden; /* the measurement is stopped */
static Message out[2][MOST], in[2][MOST];

static void note(char side, int64_t serial) {
  if (hidden) return;
  pthread_mutex_lock(&lock);
  fprintf(file, "%c %d %ld %lld\n", side, thread, thread == 0 ? iteration : -1, (long long)serial);
  pthread_mutex_unlock(&lock);
}
/* A new message; its length in words. */
static int fill(int64_t* message) {
  message[0] = (int64_t)rank << 40 | __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED);
  note('S', message[0]);
  return 1 + (int)(message[0] % WORDS) % (WORDS - 1);
}
static void isend(int64_t* message, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  MPI_Isend(message, fill(message), MPI_INT64_T, to, tag, comm, request);
}
static void send(int to, int tag, MPI_Comm comm) {
  Message message;
  MPI_Send(message, fill(message), MPI_INT64_T, to, tag, comm);
}
static void irecv(int64_t* message, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  MPI_Irecv(message, WORDS, MPI_INT64_T, from, tag, comm, request);
}
static void receive(int from, int tag, MPI_Comm comm) {
  Message message;
  MPI_Recv(message, WORDS, MPI_INT64_T, from, tag, comm, MPI_STATUS_IGNORE);
  note('R', message[0]);
}
static void received(int n, Message* messages) {
  for (int i = 0; i < n; ++i) note('R', messages[i][0]);
}
static int is(const char* mode, const char* name) { return strcmp(mode, name) == 0; }

/* Both neighbours, with these tags. */
static void exchange(int to_right, int to_left, MPI_Comm comm) {
  MPI_Request requests[4];
  irecv(in[thread][0], left, to_right, comm, &requests[0]);
  irecv(in[thread][1], right, to_left, comm, &requests[1]);
  isend(out[thread][0], right, to_right, comm, &requests[2]);
  isend(out[thread][1], left, to_left, comm, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  received(2, in[thread]);
}

static void preposted(long last) {
  static MPI_Request next[2];
  MPI_Request sends[2];
  if (iteration == 0) {
    irecv(in[0][0], left, 1, MPI_COMM_WORLD, &next[0]);
    irecv(in[0][1], right, 2, MPI_COMM_WORLD, &next[1]);
  }
  isend(out[0][0], right, 1, MPI_COMM_WORLD, &sends[0]);
  isend(out[0][1], left, 2, MPI_COMM_WORLD, &sends[1]);
  MPI_Waitall(2, next, MPI_STATUSES_IGNORE);
  received(2, in[0]);
  if (iteration != last) {
    irecv(in[0][0], left, 1, MPI_COMM_WORLD, &next[0]);
    irecv(in[0][1], right, 2, MPI_COMM_WORLD, &next[1]);
  }
  MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
}

static void persistent(long last) {
  static MPI_Request requests[4];
  if (iteration == 0) {
    MPI_Recv_init(in[0][0], WORDS, MPI_INT64_T, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in[0][1], WORDS, MPI_INT64_T, right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Send_init(out[0][0], 3, MPI_INT64_T, right, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Send_init(out[0][1], 5, MPI_INT64_T, left, 2, MPI_COMM_WORLD, &requests[3]);
  }
  fill(out[0][0]);
  fill(out[0][1]);
  MPI_Startall(4, requests);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  received(2, in[0]);
  for (int i = 0; iteration == last && i < 4; ++i) MPI_Request_free(&requests[i]);
}

/* What is sent in an iteration is received in the next one, with `tags` tags in turn. */
static void buffered(long last, int tags) {
  static MPI_Request sends[2][2];
  const int now = (int)(iteration % 2), tag = (int)(iteration % tags), before = (int)((iteration + tags - 1) % tags);
  isend(out[now][0], right, tag, MPI_COMM_WORLD, &sends[now][0]);
  isend(out[now][1], left, tags + tag, MPI_COMM_WORLD, &sends[now][1]);
  if (iteration > 0) {
    receive(left, before, MPI_COMM_WORLD);
    receive(right, tags + before, MPI_COMM_WORLD);
    MPI_Waitall(2, sends[1 - now], MPI_STATUSES_IGNORE);
  }
  if (iteration == last) {
    receive(left, tag, MPI_COMM_WORLD);
    receive(right, tags + tag, MPI_COMM_WORLD);
    MPI_Waitall(2, sends[now], MPI_STATUSES_IGNORE);
  }
}

/* Receives of several tags and of one, completed as they come. */
static void waitany(void) {
  MPI_Request requests[8], sends[8];
  for (int i = 0; i < 8; ++i) irecv(in[0][i], left, i < 5 ? i : 9, MPI_COMM_WORLD, &requests[i]);
  for (int i = 7; i >= 0; --i) isend(out[0][i], right, i < 5 ? i : 9, MPI_COMM_WORLD, &sends[i]);
  for (int n = 0; n < 8; ++n) {
    int i;
    MPI_Waitany(8, requests, &i, MPI_STATUS_IGNORE);
    note('R', in[0][i][0]);
  }
  MPI_Waitall(8, sends, MPI_STATUSES_IGNORE);
}

/* Several open receives with wildcards, of which each may take any message, and one without behind them. `order`: they
   are completed one by one from the last, one by one as they come, or at once. */
static void wildcards(int order) {
  MPI_Request requests[6], sends[6];
  for (int i = 0; i < 5; ++i)
    irecv(in[0][i], i == 2 ? left : MPI_ANY_SOURCE, i == 3 ? 7 : MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
  irecv(in[0][5], left, 7, MPI_COMM_WORLD, &requests[5]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 6; ++i) isend(out[0][i], right, 7, MPI_COMM_WORLD, &sends[i]);
  if (order == 0) {
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    received(6, in[0]);
  }
  for (int n = 0; order == 1 && n < 6; ++n) {
    int i;
    MPI_Waitany(6, requests, &i, MPI_STATUS_IGNORE);
    note('R', in[0][i][0]);
  }
  for (int i = 5; order == 2 && i >= 0; --i) {
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    note('R', in[0][i][0]);
  }
  MPI_Waitall(6, sends, MPI_STATUSES_IGNORE);
}

/* All others send to rank 0, which takes what comes. */
static void any_source(void) {
  if (rank == 0)
    for (int i = 2; i < 2 * size; ++i) receive(MPI_ANY_SOURCE, i % 2 ? MPI_ANY_TAG : 3, MPI_COMM_WORLD);
  else {
    send(0, 3, MPI_COMM_WORLD);
    send(0, 3, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* `stride`: between two tags. */
static void reordered(int stride) {
  MPI_Request sends[4];
  for (int i = 0; i < 4; ++i) isend(out[0][i], right, 5 + stride * i, MPI_COMM_WORLD, &sends[i]);
  for (int i = 3; i >= 0; --i) receive(left, 5 + stride * i, MPI_COMM_WORLD);
  MPI_Waitall(4, sends, MPI_STATUSES_IGNORE);
}

static void matched(void) {
  MPI_Request sends[3], request;
  MPI_Message message;
  MPI_Status status;
  for (int i = 0; i < 3; ++i) isend(out[0][i], right, 4, MPI_COMM_WORLD, &sends[i]);
  /* Matched first, received last. */
  MPI_Mprobe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
  receive(left, 4, MPI_COMM_WORLD);
  MPI_Message other;
  /* The pause bounds the number of probes while the sender has no core: their events must not fill the iteration's
     share. */
  for (int flag = 0; !flag;) {
    MPI_Improbe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &flag, &other, &status);
    if (!flag) usleep(1000);
  }
  MPI_Imrecv(in[0][0], WORDS, MPI_INT64_T, &other, &request);
  MPI_Mrecv(in[0][1], WORDS, MPI_INT64_T, &message, MPI_STATUS_IGNORE);
  note('R', in[0][1][0]);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  note('R', in[0][0][0]);
  MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
}

/* `late`: another receive was posted behind the one that is cancelled. */
static void cancelled(int late) {
  MPI_Request requests[2];
  MPI_Status status;
  int gone = 0;
  exchange(1, 2, MPI_COMM_WORLD);
  irecv(in[0][0], left, 1, MPI_COMM_WORLD, &requests[0]);
  if (late) irecv(in[0][1], left, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Cancel(&requests[0]);
  MPI_Wait(&requests[0], &status);
  MPI_Test_cancelled(&status, &gone);
  if (!gone) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (late) {
    send(right, 1, MPI_COMM_WORLD);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    note('R', in[0][1][0]);
  }
  exchange(1, 2, MPI_COMM_WORLD);
}

static void sendrecv(void) {
  const int words = fill(out[0][0]);
  MPI_Sendrecv(out[0][0], words, MPI_INT64_T, right, 1, in[0][0], WORDS, MPI_INT64_T, left, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  note('R', in[0][0][0]);
  fill(in[0][1]);
  MPI_Sendrecv_replace(in[0][1], WORDS, MPI_INT64_T, left, 1, right, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  note('R', in[0][1][0]);
}

/* What a rank sends in an iteration the next one receives two iterations later. */
static void pipeline(long last) {
  if (rank < size - 1) send(rank + 1, 1, MPI_COMM_WORLD);
  if (rank == 0) return;
  if (iteration >= 2) receive(rank - 1, 1, MPI_COMM_WORLD);
  for (int i = 0; iteration == last && i < 2; ++i) receive(rank - 1, 1, MPI_COMM_WORLD);
}

static void duplicates(MPI_Comm* comms) {
  MPI_Request requests[3], sends[3];
  for (int i = 0; i < 3; ++i) irecv(in[0][i], left, 1, comms[i], &requests[i]);
  for (int i = 2; i >= 0; --i) isend(out[0][i], right, 1, comms[i], &sends[i]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  received(3, in[0]);
  MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
}

/* Measured on the other ranks alone. */
static void stopped(void) {
  const int stop = rank == 0 && iteration % 4 == 1;
  exchange(1, 2, MPI_COMM_WORLD);
  if (stop) MPI_Pcontrol(0);
  hidden = stop;
  exchange(1, 2, MPI_COMM_WORLD);
  hidden = 0;
  if (stop) MPI_Pcontrol(1);
  exchange(1, 2, MPI_COMM_WORLD);
}

static int shares_tags;
static void* of_thread(void* argument) {
  thread = 1;
  const long iterations = (long)(intptr_t)argument;
  for (long i = 0; i < iterations; ++i) exchange(shares_tags ? 1 : 3, shares_tags ? 2 : 4, MPI_COMM_WORLD);
  return NULL;
}

int main(int argc, char** argv) {
  const char* mode = argv[1];
  const long iterations = atol(argv[2]);
  const int has_threads = strncmp(mode, "threads", 7) == 0;
  int provided;
  MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  char name[1000];
  snprintf(name, sizeof name, "%s.%d", argv[3], rank);
  file = fopen(name, "w");
  if (!file || argc < 4 || (has_threads && provided < MPI_THREAD_MULTIPLE)) return 1;
  MPI_Comm comms[3] = {MPI_COMM_WORLD};
  if (is(mode, "duplicates"))
    for (int i = 1; i < 3; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  pthread_t other;
  shares_tags = is(mode, "threads_share");
  if (has_threads) pthread_create(&other, NULL, of_thread, (void*)(intptr_t)iterations);
  REFRAIN_LOOP_BEGIN("step");
  for (long i = 0; i < iterations; ++i) {
    REFRAIN_ITERATION_BEGIN();
    iteration = i;
    if (is(mode, "halo") || has_threads) exchange(1, 2, MPI_COMM_WORLD);
    else if (is(mode, "one_tag")) exchange(1, 1, MPI_COMM_WORLD);
    else if (is(mode, "new_tags")) exchange((int)(2 * i), (int)(2 * i + 1), MPI_COMM_WORLD);
    else if (is(mode, "preposted")) preposted(iterations - 1);
    else if (is(mode, "persistent")) persistent(iterations - 1);
    else if (is(mode, "pipeline")) pipeline(iterations - 1);
    else if (is(mode, "buffered")) buffered(iterations - 1, 1);
    else if (is(mode, "buffered_tags")) buffered(iterations - 1, 3);
    else if (is(mode, "waitany")) waitany();
    else if (is(mode, "any_source")) any_source();
    else if (is(mode, "wildcards")) wildcards(0);
    else if (is(mode, "wildcards_any")) wildcards(1);
    else if (is(mode, "wildcards_last")) wildcards(2);
    else if (is(mode, "reordered")) reordered(1);
    else if (is(mode, "reordered_class")) reordered(32);
    else if (is(mode, "matched")) matched();
    else if (is(mode, "cancelled")) cancelled(0);
    else if (is(mode, "cancelled_late")) cancelled(1);
    else if (is(mode, "sendrecv")) sendrecv();
    else if (is(mode, "duplicates")) duplicates(comms);
    else if (is(mode, "stopped")) stopped();
    else return 2;
    iteration = -1;
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  if (has_threads) pthread_join(other, NULL);
  fclose(file);
  MPI_Finalize();
  return 0;
}

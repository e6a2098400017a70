/* Long exchange of messages between pairs of ranks, without marks and without an operation of all ranks between
 * MPI_Init and MPI_Finalize. Each message carries a serial number, and every second one is sent late. Usage:
 * events_matched MODE STEPS LOG pingpong   rank 0 sends eight messages, rank 1 answers, by blocking calls waitall both
 * send and receive messages with tags 5, 6 and 7 in each step; a receive is posted one step early one_class  the same
 * with tags 5 and 37, which are counted together threads    pingpong by two threads, each with a tag of its own endless
 * pingpong until it is killed; after STEPS steps LOG.RANK has a second line Each rank writes LOG.RANK: a line for each
 * message that it has sent or received: side (S or R), tag, serial, and when the call that has sent or completed it
 * began and ended, in nanoseconds; and before that a line with its process id. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { words = 16, most_tags = 3, burst = 8, most_lines = burst + 1 };

struct Line {
  char side;
  int tag;
  int64_t serial, begin, end;
};
struct Log {
  struct Line* lines;
  long count;
};

static int rank, peer;
static long steps, steps_to_tell = -1;
static FILE* file;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void be_late(void) {
  const int64_t until = now() + 150000;
  while (now() < until) usleep(20);
}

/* Before each call: so it is told from the one before by its time. */
static int64_t begin_of_call(void) {
  const int64_t until = now() + 30000;
  while (now() < until)
    ;
  return now();
}

static int64_t serial_of(int from, int tag, long step) { return ((int64_t)from * 64 + tag) << 40 | step; }

static void note(struct Log* log, char side, int tag, int64_t serial, int64_t begin, int64_t end) {
  if (log->lines) log->lines[log->count++] = (struct Line){side, tag, serial, begin, end};
}

static void send_one(struct Log* log, int tag, long step) {
  int64_t message[words] = {serial_of(rank, tag, step)};
  const int64_t begin = begin_of_call();
  MPI_Send(message, words, MPI_INT64_T, peer, tag, MPI_COMM_WORLD);
  note(log, 'S', tag, message[0], begin, now());
}

static void receive_one(struct Log* log, int tag) {
  int64_t message[words];
  const int64_t begin = begin_of_call();
  MPI_Recv(message, words, MPI_INT64_T, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  note(log, 'R', tag, message[0], begin, now());
}

static void pingpong(struct Log* log, int tag) {
  for (long step = 0; steps < 0 || step < steps; ++step) {
    for (int i = 0; i < burst && rank % 2 == 0; ++i) {
      if (i % 2 == 1) be_late();
      send_one(log, tag, step * burst + i);
    }
    for (int i = 0; i < burst && rank % 2 == 1; ++i) receive_one(log, tag);
    if (rank % 2 == 1) send_one(log, tag, step);
    else receive_one(log, tag);
    if (step == steps_to_tell) {
      fprintf(file, "%ld\n", step);
      fflush(file);
    }
  }
}

static void exchange(struct Log* log, const int* tags, int count) {
  static int64_t in[2][most_tags][words], out[most_tags][words];
  MPI_Request receives[2][most_tags], all[2 * most_tags];
  int64_t begins[most_tags], ends[most_tags];
  for (int i = 0; i < count; ++i)
    MPI_Irecv(in[0][i], words, MPI_INT64_T, peer, tags[i], MPI_COMM_WORLD, &receives[0][i]);
  for (long step = 0; step < steps; ++step) {
    const int own = (int)(step % 2);
    for (int i = 0; i < count && step + 1 < steps; ++i)
      MPI_Irecv(in[1 - own][i], words, MPI_INT64_T, peer, tags[i], MPI_COMM_WORLD, &receives[1 - own][i]);
    for (int i = 0; i < count; ++i) {
      if (step % 2 == rank % 2 && i == count - 1) be_late();
      out[i][0] = serial_of(rank, tags[i], step);
      begins[i] = begin_of_call();
      MPI_Isend(out[i], words, MPI_INT64_T, peer, tags[i], MPI_COMM_WORLD, &all[count + i]);
      ends[i] = now();
    }
    memcpy(all, receives[own], (size_t)count * sizeof *all);
    const int64_t begin = begin_of_call();
    MPI_Waitall(2 * count, all, MPI_STATUSES_IGNORE);
    const int64_t end = now();
    for (int i = 0; i < count; ++i) {
      note(log, 'S', tags[i], out[i][0], begins[i], ends[i]);
      note(log, 'R', tags[i], in[own][i][0], begin, end);
    }
  }
}

static void* run_thread(void* log) {
  pingpong(log, 6);
  return NULL;
}

int main(int argc, char** argv) {
  static const int apart[] = {5, 6, 7}, together[] = {5, 37};
  const char* mode = argc > 3 ? argv[1] : "";
  struct Log logs[2] = {{NULL, 0}, {NULL, 0}};
  char name[4096];
  int level;
  MPI_Init_thread(&argc, &argv, strcmp(mode, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  peer = rank ^ 1;
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 1);
  steps = atol(argv[2]);
  if (!strcmp(mode, "endless")) {
    steps_to_tell = steps;
    steps = -1;
  }
  for (int i = 0; i < 2 && steps > 0; ++i) logs[i].lines = malloc((size_t)steps * most_lines * sizeof(struct Line));
  snprintf(name, sizeof name, "%s.%d", argv[3], rank);
  file = fopen(name, "w");
  fprintf(file, "%d\n", (int)getpid());
  fflush(file);
  if (!strcmp(mode, "waitall")) {
    exchange(&logs[0], apart, 3);
  } else if (!strcmp(mode, "one_class")) {
    exchange(&logs[0], together, 2);
  } else if (!strcmp(mode, "threads")) {
    pthread_t thread;
    pthread_create(&thread, NULL, run_thread, &logs[1]);
    pingpong(&logs[0], 5);
    pthread_join(thread, NULL);
  } else {
    pingpong(&logs[0], 5);
  }
  for (int i = 0; i < 2; ++i)
    for (long n = 0; n < logs[i].count; ++n) {
      const struct Line* of = &logs[i].lines[n];
      fprintf(file, "%c %d %lld %lld %lld\n", of->side, of->tag, (long long)of->serial, (long long)of->begin,
              (long long)of->end);
    }
  fclose(file);
  MPI_Finalize();
  return 0;
}

/* MPI calls of every kind, and a book that the program keeps of them itself: one line for each call, and before it one
   for each thing that the call communicates, begins or completes, as Refrain notes them (measurement/event_log.hpp).

     call_book BOOK        writes BOOK.<rank>

     did KIND PHASE PEER TAG COMMUNICATOR REQUEST SITE SENT RECEIVED    SITE: where the request was begun
     call FUNCTION SITE TICKS_BEFORE TICKS_AFTER NS_BEFORE NS_AFTER     SITE: the call path, told by the line; of thread
   K */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static FILE* book;
static int rank, other, begun;
static MPI_Comm copy;

static uint64_t ticks(void) {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

static uint64_t ns(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

/* Makes the call. It is the only one of its line, so the line stands for the call path. */
#define CALL(function, ...)                                                                            \
  do {                                                                                                 \
    const uint64_t ns_before = ns(), before = ticks();                                                 \
    function(__VA_ARGS__);                                                                             \
    const uint64_t after = ticks(), ns_after = ns();                                                   \
    fprintf(book, "call %s %d %llu %llu %llu %llu\n", #function, __LINE__, (unsigned long long)before, \
            (unsigned long long)after, (unsigned long long)ns_before, (unsigned long long)ns_after);   \
  } while (0)

enum { any = -1, none = -2, unknown = -1 };

/* What the next call does. `request`: 0, or the how-manieth that the program begins. */
static void did(const char* kind, const char* phase, int peer, int tag, const char* communicator, int request, int site,
                long sent, long received) {
  fprintf(book, "did %s %s %d %d %s %d %d %ld %ld\n", kind, phase, peer, tag, communicator, request, site, sent,
          received);
}

static int data[64], more[64];

static void messages(void) {
  if (rank == 0) {
    did("send", "whole", 1, 5, "world", 0, 0, 40, 0);
    CALL(MPI_Send, data, 10, MPI_INT, 1, 5, MPI_COMM_WORLD);
    did("receive", "whole", 1, 6, "dup", 0, 0, 0, 8);
    CALL(MPI_Recv, data, 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, MPI_STATUS_IGNORE);
  } else {
    did("receive", "whole", 0, 5, "world", 0, 0, 0, 40);
    CALL(MPI_Recv, data, 64, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    did("send", "whole", 0, 6, "dup", 0, 0, 8, 0);
    CALL(MPI_Ssend, data, 2, MPI_INT, 0, 6, copy);
  }
  did("send", "whole", other, 1, "dup", 0, 0, 12 + 4 * rank, 0);
  did("receive", "whole", other, 1, "dup", 0, 0, 0, 12 + 4 * other);
  CALL(MPI_Sendrecv, data, 3 + rank, MPI_INT, other, 1, more, 64, MPI_INT, other, 1, copy, MPI_STATUS_IGNORE);
  CALL(MPI_Send, data, 10, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD); /* nothing moves */
}

static void probed(void) {
  if (rank == 0) {
    did("send", "whole", 1, 2, "world", 0, 0, 4, 0);
    CALL(MPI_Send, data, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    return;
  }
  MPI_Message message;
  CALL(MPI_Mprobe, 0, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  did("receive", "whole", 0, 2, "world", 0, 0, 0, 4);
  CALL(MPI_Mrecv, data, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

static void requests(void) {
  MPI_Request request[3];
  for (int round = 0; round < 3; ++round) {
    const int receive = ++begun, at_receive = __LINE__ + 2;
    did("receive", "begun", any, any, "world", receive, at_receive, 0, 0);
    CALL(MPI_Irecv, more, 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request[0]);
    const int send = ++begun, at_send = __LINE__ + 2;
    did("send", "begun", other, round, "world", send, at_send, 20, 0);
    CALL(MPI_Issend, data, 5, MPI_INT, other, round, MPI_COMM_WORLD, &request[1]);
    request[2] = MPI_REQUEST_NULL;
    did("receive", "completed", other, round, "world", receive, at_receive, 0, 20);
    did("send", "completed", other, round, "world", send, at_send, 20, 0);
    CALL(MPI_Waitall, 3, request, MPI_STATUSES_IGNORE);
  }
  const int never = ++begun, at = __LINE__ + 2;
  did("receive", "begun", other, 99, "dup", never, at, 0, 0);
  CALL(MPI_Irecv, data, 1, MPI_INT, other, 99, copy, &request[0]);
  CALL(MPI_Cancel, &request[0]);
  did("receive", "cancelled", other, 99, "dup", never, at, 0, 0);
  CALL(MPI_Wait, &request[0], MPI_STATUS_IGNORE);
}

static void persistent(void) {
  MPI_Request request[2];
  CALL(MPI_Recv_init, more, 8, MPI_INT, other, 3, copy, &request[0]);
  CALL(MPI_Ssend_init, data, 8, MPI_INT, other, 3, copy, &request[1]);
  for (int round = 0; round < 2; ++round) {
    const int receive = ++begun, send = ++begun, at = __LINE__ + 3;
    did("receive", "begun", other, 3, "dup", receive, at, 0, 0);
    did("send", "begun", other, 3, "dup", send, at, 32, 0);
    CALL(MPI_Startall, 2, request);
    did("send", "completed", other, 3, "dup", send, at, 32, 0);
    CALL(MPI_Wait, &request[1], MPI_STATUS_IGNORE);
    did("receive", "completed", other, 3, "dup", receive, at, 0, 32);
    CALL(MPI_Wait, &request[0], MPI_STATUS_IGNORE);
  }
  CALL(MPI_Request_free, &request[0]);
  CALL(MPI_Request_free, &request[1]);
}

static void collectives(void) {
  did("collective", "whole", 1, any, "world", 0, 0, rank == 1 ? 2 * 40 : 0, 40);
  CALL(MPI_Bcast, data, 10, MPI_INT, 1, MPI_COMM_WORLD);
  did("collective", "whole", none, any, "dup", 0, 0, 2 * 8, 2 * 8);
  CALL(MPI_Allreduce, data, more, 2, MPI_INT, MPI_SUM, copy);
  did("collective", "whole", none, any, "world", 0, 0, 0, 0);
  CALL(MPI_Barrier, MPI_COMM_WORLD);
  MPI_Request request;
  const int barrier = ++begun, at_barrier = __LINE__ + 2;
  did("collective", "begun", none, any, "dup", barrier, at_barrier, 0, 0);
  CALL(MPI_Ibarrier, copy, &request);
  did("collective", "completed", none, any, "dup", barrier, at_barrier, 0, 0);
  CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
  const int gather = ++begun, at_gather = __LINE__ + 2;
  did("collective", "begun", 0, any, "world", gather, at_gather, 4, rank == 0 ? 8 : 0);
  CALL(MPI_Igather, data, 1, MPI_INT, more, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  did("collective", "completed", 0, any, "world", gather, at_gather, 4, rank == 0 ? 8 : 0);
  CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
}

static void one_sided(void) {
  static int target[64];
  MPI_Win window;
  CALL(MPI_Win_create, target, sizeof target, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  did("synchronization", "whole", other, any, "window", 0, 0, 0, 0);
  CALL(MPI_Win_lock, MPI_LOCK_SHARED, other, 0, window);
  did("one_sided", "whole", other, any, "window", 0, 0, 16, 0);
  CALL(MPI_Put, data, 4, MPI_INT, other, 0, 4, MPI_INT, window);
  did("one_sided", "whole", other, any, "window", 0, 0, 0, 24);
  CALL(MPI_Get, more, 6, MPI_INT, other, 8, 6, MPI_INT, window);
  MPI_Request request;
  const int put = ++begun, at = __LINE__ + 2;
  did("one_sided", "begun", other, any, "window", put, at, 8, 0);
  CALL(MPI_Rput, data, 2, MPI_INT, other, 16, 2, MPI_INT, window, &request);
  did("one_sided", "completed", other, any, "window", put, at, 8, 0);
  CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
  did("synchronization", "whole", other, any, "window", 0, 0, 0, 0);
  CALL(MPI_Win_flush, other, window);
  did("synchronization", "whole", other, any, "window", 0, 0, 0, 0);
  CALL(MPI_Win_unlock, other, window);
  did("synchronization", "whole", rank, 1, "window", 0, 0, 0, 0); /* exclusive */
  CALL(MPI_Win_lock, MPI_LOCK_EXCLUSIVE, rank, 0, window);
  did("synchronization", "whole", rank, any, "window", 0, 0, 0, 0);
  CALL(MPI_Win_unlock, rank, window);
  did("synchronization", "whole", none, any, "window", 0, 0, 0, 0);
  CALL(MPI_Win_fence, MPI_MODE_NOPRECEDE, window);
  did("synchronization", "whole", none, any, "window", 0, 0, 0, 0);
  CALL(MPI_Win_fence, MPI_MODE_NOSUCCEED, window);
  MPI_Group all, partner;
  CALL(MPI_Comm_group, MPI_COMM_WORLD, &all);
  CALL(MPI_Group_incl, all, 1, &other, &partner);
  if (rank == 0) {
    did("synchronization", "whole", none, any, "window", 0, 0, 0, 0);
    CALL(MPI_Win_start, partner, 0, window);
    did("synchronization", "whole", none, any, "window", 0, 0, 0, 0);
    CALL(MPI_Win_complete, window);
  } else {
    did("synchronization", "whole", none, any, "window", 0, 0, 0, 0);
    CALL(MPI_Win_post, partner, 0, window);
    did("synchronization", "whole", none, any, "window", 0, 0, 0, 0);
    CALL(MPI_Win_wait, window);
  }
  CALL(MPI_Win_free, &window);
}

static void files(const char* name) {
  MPI_File file;
  CALL(MPI_File_open, MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
       &file);
  did("write", "whole", none, any, "unknown", 0, 0, 40, 0);
  CALL(MPI_File_write_at, file, 0, data, 10, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Request request;
  const int read = ++begun, at = __LINE__ + 2;
  did("read", "begun", none, any, "unknown", read, at, 0, 0);
  CALL(MPI_File_iread_at, file, 0, more, 10, MPI_INT, &request);
  did("read", "completed", none, any, "unknown", read, at, 0, 40);
  CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
  CALL(MPI_File_close, &file);
}

static void* wait_for(void* request) {
  CALL(MPI_Wait, request, MPI_STATUS_IGNORE);
  return NULL;
}

/* Begun by one thread, completed by another. */
static void threads(void) {
  MPI_Request request;
  const int receive = ++begun, at = __LINE__ + 2;
  did("receive", "begun", other, 4, "world", receive, at, 0, 0);
  CALL(MPI_Irecv, more, 1, MPI_INT, other, 4, MPI_COMM_WORLD, &request);
  did("send", "whole", other, 4, "world", 0, 0, 4, 0);
  CALL(MPI_Send, data, 1, MPI_INT, other, 4, MPI_COMM_WORLD);
  did("receive", "completed", other, 4, "world", receive, at, 0, 4);
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for, &request);
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  char name[4096];
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = 1 - rank;
  snprintf(name, sizeof name, "%s.%d", argv[1], rank);
  book = fopen(name, "w");
  if (!book || provided < MPI_THREAD_MULTIPLE) return 1;
  CALL(MPI_Comm_dup, MPI_COMM_WORLD, &copy);
  messages();
  probed();
  requests();
  persistent();
  collectives();
  one_sided();
  snprintf(name, sizeof name, "%s.file.%d", argv[1], rank);
  files(name);
  threads();
  CALL(MPI_Comm_free, &copy);
  fclose(book);
  MPI_Finalize();
  return 0;
}

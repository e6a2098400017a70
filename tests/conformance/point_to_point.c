/* Messages: every kind of send and receive, probes, wildcards, MPI_PROC_NULL, empty messages. */
#include "conformance.h"

/* MPICH 4.0 does not tell how much a request of MPI_Isendrecv received, and Refrain says so. */
#ifdef MPICH_VERSION
enum { isendrecv_tells = 0 };
#else
enum { isendrecv_tells = 1 };
#endif

static Path* posted;
static MPI_Request receiving;

PATH static void post(int tag) {
  FUNCTION;
  memset(in, 0, sizeof in);
  CALL(MPI_Irecv, (in, room, MPI_INT, left, tag, world, &receiving), posted = last);
}

PATH static void finish(count_t n) {
  FUNCTION;
  MPI_Status status;
  CALL(MPI_Wait, (&receiving, &status), arrived(posted, n * I));
  show_status("status", &status);
  show("received", in, (n + 1) * I);
}

#define BLOCKING(function, tag)                                          \
  do {                                                                   \
    post(tag);                                                           \
    CALL(MPI_Barrier, (world)); /* a ready send needs it */              \
    CALL(function, (out, n, MPI_INT, right, tag, world), sent(1, n* I)); \
    finish(n);                                                           \
    CALL(function, (out, n, MPI_INT, MPI_PROC_NULL, tag, world));        \
  } while (0)

#define NONBLOCKING(function, tag)                                                 \
  do {                                                                             \
    post(tag);                                                                     \
    CALL(MPI_Barrier, (world));                                                    \
    CALL(function, (out, n, MPI_INT, right, tag, world, &request), sent(1, n* I)); \
    finish(n);                                                                     \
    CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE));                                 \
    CALL(function, (out, n, MPI_INT, MPI_PROC_NULL, tag, world, &request));        \
    CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE));                                 \
  } while (0)

PATH static void all_modes(count_t n) {
  FUNCTION;
  static char attached[1 << 17];
  void* detached;
  count_t bytes;
  MPI_Request request;
  CALL(MPI_Buffer_attach, (attached, sizeof attached));
  BLOCKING(MPI_Send, 1);
  BLOCKING(MPI_Ssend, 2);
  BLOCKING(MPI_Bsend, 3);
  BLOCKING(MPI_Rsend, 4);
  NONBLOCKING(MPI_Isend, 5);
  NONBLOCKING(MPI_Issend, 6);
  NONBLOCKING(MPI_Ibsend, 7);
  NONBLOCKING(MPI_Irsend, 8);
  CALL(MPI_Buffer_detach, (&detached, &bytes));
  HOLDS(bytes == sizeof attached);
}

/* Received by MPI_Recv, with more room than is needed; from this neighbour, from anybody, with any tag. */
PATH static void receive(count_t n) {
  FUNCTION;
  MPI_Status status;
  MPI_Request request;
  for (int wild = 0; wild < 3; ++wild) {
    CALL(MPI_Isend, (out, n + wild, MPI_INT, right, 20 + wild, world, &request), sent(1, (n + wild) * I));
    CALL(MPI_Recv,
         (in, n + 5, MPI_INT, wild ? MPI_ANY_SOURCE : left, wild == 2 ? MPI_ANY_TAG : 20 + wild, world,
          wild == 1 ? MPI_STATUS_IGNORE : &status),
         received(1, (n + wild) * I));
    CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE));
    if (wild != 1) show_status("status", &status);
    show("received", in, (n + wild + 1) * I);
    CALL(MPI_Barrier, (world)); /* the next message is not to match the wildcards of this one */
  }
  CALL(MPI_Recv, (in, n, MPI_INT, MPI_PROC_NULL, 1, world, &status));
  show_status("from nobody", &status);
}

/* Rank 0 receives from everybody in the order in which messages come. */
PATH static void gather_from_anybody(int rounds) {
  FUNCTION;
  long long sum = 0;
  if (rank) {
    for (int i = 0; i < rounds; ++i)
      CALL(MPI_Send, (out, rank + i, MPI_INT, 0, 30 + i, world), sent(1, (rank + i) * I));
  } else {
    for (int i = 0; i < rounds * (size - 1); ++i) {
      MPI_Status status;
      if (i % 2) {
        CALL(MPI_Recv, (in, room, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status),
             received(1, (status.MPI_SOURCE + status.MPI_TAG - 30) * I));
      } else {
        Path* here_posted;
        MPI_Request request;
        CALL(MPI_Irecv, (in, room, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request), here_posted = last);
        CALL(MPI_Wait, (&request, &status), arrived(here_posted, (status.MPI_SOURCE + status.MPI_TAG - 30) * I));
      }
      sum += (status.MPI_SOURCE + 1) * 1000 + status.MPI_TAG + in[0];
    }
  }
  say("sum %lld", sum);
  CALL(MPI_Barrier, (world));
}

PATH static void exchange(count_t n) {
  FUNCTION;
  MPI_Status status;
  CALL(MPI_Sendrecv, (out, n, MPI_INT, right, 40, in, room, MPI_INT, left, 40, world, &status), sent(1, n * I),
       received(1, n * I));
  show_status("sendrecv", &status);
  show("received", in, n * I);
  CALL(MPI_Sendrecv,
       (out, n, MPI_INT, right, 41, in, room, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, MPI_STATUS_IGNORE),
       sent(1, n * I), received(1, n * I));
  show("from anybody", in, n * I);
  CALL(MPI_Barrier, (world));
  CALL(MPI_Sendrecv_replace, (in, n + 1, MPI_INT, right, 42, left, 42, world, MPI_STATUS_IGNORE), sent(1, (n + 1) * I),
       received(1, (n + 1) * I));
  show("replaced", in, (n + 1) * I);
  /* An open chain: nobody is before the first and behind the last. */
  const int before = rank ? rank - 1 : MPI_PROC_NULL, behind = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  memset(in, 0, sizeof in);
  CALL(MPI_Sendrecv, (out, n, MPI_INT, behind, 43, in, n, MPI_INT, before, 43, world, &status),
       sent(rank < size - 1, rank < size - 1 ? n * I : 0), received(rank > 0, rank > 0 ? n * I : 0));
  CALL(MPI_Sendrecv_replace, (in, n, MPI_INT, before, 44, behind, 44, world, &status),
       sent(rank > 0, rank > 0 ? n * I : 0), received(rank < size - 1, rank < size - 1 ? n * I : 0));
  show_status("chain", &status);
  show("chain", in, n * I);
#if MPI_VERSION >= 4
  Path* path;
  MPI_Request request;
  const long long told = isendrecv_tells ? n * I : 0;
  memset(in, 0, sizeof in);
  CALL(MPI_Isendrecv, (out, n, MPI_INT, right, 45, in, room, MPI_INT, left, 45, world, &request), sent(1, n * I),
       path = last);
  CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE), arrived(path, told));
  CALL(MPI_Isendrecv_replace, (in, n, MPI_INT, right, 46, left, 46, world, &request), sent(1, n * I), path = last);
  CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE), arrived(path, told));
#ifndef MPICH_VERSION /* 4.0 crashes */
  CALL(MPI_Isendrecv, (out, n, MPI_INT, MPI_PROC_NULL, 45, in, n, MPI_INT, MPI_PROC_NULL, 45, world, &request));
  CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE));
#endif
  show("not blocking", in, n * I);
#endif
}

PATH static void probes(count_t n) {
  FUNCTION;
  MPI_Status status;
  MPI_Request request;
  int flag = 0;
  count_t count;
  CALL(MPI_Isend, (out, n, MPI_INT, right, 50, world, &request), sent(1, n * I));
  CALL(MPI_Probe, (left, 50, world, &status));
  show_status("probe", &status);
  CALL(MPI_Probe, (MPI_ANY_SOURCE, 50, world, MPI_STATUS_IGNORE));
  while (!flag) CALL(MPI_Iprobe, (left, MPI_ANY_TAG, world, &flag, &status));
  CALL(MPI_Get_count, (&status, MPI_INT, &count));
  HOLDS(count == n);
  CALL(MPI_Recv, (in, n, MPI_INT, left, 50, world, MPI_STATUS_IGNORE), received(1, n * I));
  CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE));
  CALL(MPI_Iprobe, (left, 51, world, &flag, &status));
  HOLDS(!flag);
  CALL(MPI_Probe, (MPI_PROC_NULL, 50, world, &status));
  show_status("nobody", &status);
  CALL(MPI_Iprobe, (MPI_PROC_NULL, 50, world, &flag, &status));
  HOLDS(flag);
}

static MPI_Message message;

PATH static void take(count_t n) {
  FUNCTION;
  MPI_Status status;
  Path* path;
  MPI_Request request;
  memset(in, 0, sizeof in);
  if (n % 2) {
    CALL(MPI_Mrecv, (in, n + 3, MPI_INT, &message, &status), received(1, n * I));
  } else {
    CALL(MPI_Imrecv, (in, n + 3, MPI_INT, &message, &request), path = last);
    CALL(MPI_Wait, (&request, &status), arrived(path, n * I));
  }
  HOLDS(message == MPI_MESSAGE_NULL);
  show_status("matched", &status);
  show("received", in, (n + 1) * I);
}

PATH static void matched_probes(count_t n) {
  FUNCTION;
  MPI_Status status;
  MPI_Request request;
  for (int round = 0; round < 4; ++round) {
    int flag = 0;
    CALL(MPI_Isend, (out, n + round / 2, MPI_INT, right, 60, world, &request), sent(1, (n + round / 2) * I));
    if (round % 2) {
      CALL(MPI_Mprobe, (left, 60, world, &message, round == 1 ? MPI_STATUS_IGNORE : &status));
    } else {
      while (!flag) CALL(MPI_Improbe, (MPI_ANY_SOURCE, 60, world, &flag, &message, &status));
    }
    take(n + round / 2);
    CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE));
    CALL(MPI_Barrier, (world));
  }
  int flag = 0;
  CALL(MPI_Improbe, (left, 61, world, &flag, &message, &status));
  HOLDS(!flag);
  CALL(MPI_Mprobe, (MPI_PROC_NULL, 60, world, &message, &status));
  HOLDS(message == MPI_MESSAGE_NO_PROC);
  CALL(MPI_Mrecv, (in, 1, MPI_INT, &message, &status));
  show_status("nobody", &status);
  CALL(MPI_Improbe, (MPI_PROC_NULL, 60, world, &flag, &message, &status));
  CALL(MPI_Imrecv, (in, 1, MPI_INT, &message, &request));
  CALL(MPI_Wait, (&request, &status));
  show_status("nobody", &status);
}

PATH static void short_messages(void) {
  FUNCTION;
  all_modes(3);
  receive(2);
  exchange(4);
  probes(5);
  matched_probes(6);
}

PATH static void long_messages(void) {
  FUNCTION;
  all_modes(3001);
  receive(20000);
  exchange(5003);
  probes(777);
  matched_probes(1111);
}

PATH static void empty_messages(void) {
  FUNCTION;
  all_modes(0);
  receive(0);
  exchange(0);
  probes(0);
  matched_probes(0);
}

MAIN({
  short_messages();
  long_messages();
  empty_messages();
  gather_from_anybody(1);
  gather_from_anybody(4);
})

/* Completing requests in every way: null and inactive handles, handles used again, cancelled and freed while active,
 * asked for their status, generalized. Messages are posted in one function and completed in another. */
#include "conformance.h"

enum { many = 100, few = 7 };
static MPI_Request requests[2 * many];
static Path* posted[2 * many]; /* of receives; null for sends */
static long long bytes[2 * many];
static MPI_Status statuses[2 * many];

/* Receives at [first, first + n), of i + 1 integers; every fifth handle is null. */
PATH static void post_receives(int first, int n) {
  FUNCTION;
  for (int i = 0; i < n; ++i) {
    requests[first + i] = MPI_REQUEST_NULL;
    posted[first + i] = NULL;
    if (i % 5 == 3) continue;
    CALL(MPI_Irecv, (in + 200 * i, 200, MPI_INT, left, i, world, &requests[first + i]), posted[first + i] = last);
    bytes[first + i] = (i + 1) * I;
  }
}

PATH static void post_sends(int first, int n) {
  FUNCTION;
  for (int i = 0; i < n; ++i) {
    requests[first + i] = MPI_REQUEST_NULL;
    posted[first + i] = NULL;
    if (i % 5 == 3) continue;
    CALL(MPI_Isend, (out + i, i + 1, MPI_INT, right, i, world, &requests[first + i]), sent(1, (i + 1) * I));
  }
}

/* The last call completed request i. */
INLINE void done(int i) {
  if (posted[i]) arrived(posted[i], bytes[i]);
  posted[i] = NULL;
}
INLINE void all_done(int n) {
  for (int i = 0; i < n; ++i) done(i);
}

PATH static void wait_for_all(int n, int with_statuses) {
  FUNCTION;
  CALL(MPI_Waitall, (n, requests, with_statuses ? statuses : MPI_STATUSES_IGNORE), all_done(n));
  if (with_statuses)
    for (int i = 0; i < n; ++i)
      if (i % 3 == 0 && i < n / 2) show_status("all", &statuses[i]);
}
PATH static void test_for_all(int n, int with_statuses) {
  FUNCTION;
  for (int flag = 0; !flag;) {
    CALL(MPI_Testall, (n, requests, &flag, with_statuses ? statuses : MPI_STATUSES_IGNORE));
    if (flag) all_done(n);
  }
}
PATH static void wait_for_any(int n, int with_statuses) {
  FUNCTION;
  for (int index;;) {
    CALL(MPI_Waitany, (n, requests, &index, with_statuses ? statuses : MPI_STATUS_IGNORE));
    if (index == MPI_UNDEFINED) break;
    done(index);
  }
}
PATH static void test_for_any(int n, int with_statuses) {
  FUNCTION;
  for (int index, flag;;) {
    CALL(MPI_Testany, (n, requests, &index, &flag, with_statuses ? statuses : MPI_STATUS_IGNORE));
    if (flag && index == MPI_UNDEFINED) break;
    if (flag) done(index);
  }
}
PATH static void wait_for_some(int n, int with_statuses) {
  FUNCTION;
  int count, indices[2 * many];
  for (;;) {
    CALL(MPI_Waitsome, (n, requests, &count, indices, with_statuses ? statuses : MPI_STATUSES_IGNORE));
    if (count == MPI_UNDEFINED) break;
    for (int i = 0; i < count; ++i) done(indices[i]);
  }
}
PATH static void test_for_some(int n, int with_statuses) {
  FUNCTION;
  int count, indices[2 * many];
  for (;;) {
    CALL(MPI_Testsome, (n, requests, &count, indices, with_statuses ? statuses : MPI_STATUSES_IGNORE));
    if (count == MPI_UNDEFINED) break;
    for (int i = 0; i < count; ++i) done(indices[i]);
  }
}
PATH static void wait_for_each(int n, int with_statuses) {
  FUNCTION;
  for (int i = n - 1; i >= 0; --i)
    CALL(MPI_Wait, (&requests[i], with_statuses ? statuses : MPI_STATUS_IGNORE), done(i));
}
PATH static void test_each(int n, int with_statuses) {
  FUNCTION;
  for (int i = 0, flag; i < n; ++i) {
    do CALL(MPI_Test, (&requests[i], &flag, with_statuses ? statuses : MPI_STATUS_IGNORE));
    while (!flag);
    done(i);
  }
}
/* Asked first: that completes nothing. */
PATH static void ask_each(int n, int with_statuses) {
  FUNCTION;
  for (int i = 0, flag; i < n; ++i) {
    do CALL(MPI_Request_get_status, (requests[i], &flag, with_statuses ? statuses : MPI_STATUS_IGNORE));
    while (!flag);
    CALL(MPI_Request_get_status, (requests[i], &flag, statuses));
    HOLDS(flag);
    CALL(MPI_Wait, (&requests[i], MPI_STATUS_IGNORE), done(i));
  }
}

typedef void Completion(int n, int with_statuses);
static Completion* const completions[] = {wait_for_all,  test_for_all,  wait_for_any, test_for_any, wait_for_some,
                                          test_for_some, wait_for_each, test_each,    ask_each};
enum { ways = sizeof completions / sizeof *completions };

PATH static void few_requests(void) {
  FUNCTION;
  for (int way = 0; way < ways; ++way) {
    post_receives(0, few);
    post_sends(few, few);
    completions[way](2 * few, way % 2);
    for (int i = 0; i < 2 * few; ++i) HOLDS(requests[i] == MPI_REQUEST_NULL);
  }
  show("received", in, few * 200 * I);
}

PATH static void many_requests(void) {
  FUNCTION;
  for (int way = 0; way < ways; ++way) {
    post_receives(0, many);
    post_sends(many, many);
    completions[way](2 * many, !(way % 2));
  }
  show("received", in, many * 200 * I);
}

/* Nothing but null requests, and no request at all. */
PATH static void nothing(void) {
  FUNCTION;
  int count, index, flag, indices[few];
  MPI_Status status;
  for (int i = 0; i < few; ++i) requests[i] = MPI_REQUEST_NULL;
  for (int n = 0; n <= few; n += few) {
    CALL(MPI_Waitall, (n, requests, MPI_STATUSES_IGNORE));
    CALL(MPI_Waitall, (n, requests, statuses));
    CALL(MPI_Testall, (n, requests, &flag, statuses));
    HOLDS(flag);
    CALL(MPI_Waitany, (n, requests, &index, &status));
    HOLDS(index == MPI_UNDEFINED);
    CALL(MPI_Testany, (n, requests, &index, &flag, MPI_STATUS_IGNORE));
    HOLDS(flag && index == MPI_UNDEFINED);
    CALL(MPI_Waitsome, (n, requests, &count, indices, MPI_STATUSES_IGNORE));
    HOLDS(count == MPI_UNDEFINED);
    CALL(MPI_Testsome, (n, requests, &count, indices, statuses));
    HOLDS(count == MPI_UNDEFINED);
  }
  CALL(MPI_Wait, (requests, &status));
  show_status("null", &status);
  CALL(MPI_Test, (requests, &flag, &status));
  CALL(MPI_Request_get_status, (requests[0], &flag, &status));
  HOLDS(flag);
  show_status("null", &status);
}

/* Inactive persistent requests among active ones complete nothing. */
PATH static void inactive(int rounds) {
  FUNCTION;
  enum { n = 6 };
  int index, flag, count, indices[n];
  MPI_Status status;
  Path* path;
  CALL(MPI_Recv_init, (in, 100, MPI_INT, left, 1, world, &requests[0]));
  CALL(MPI_Recv_init, (in + 100, 100, MPI_INT, left, 2, world, &requests[1]));
  CALL(MPI_Send_init, (out, 10, MPI_INT, right, 1, world, &requests[2]));
  CALL(MPI_Send_init, (out + 10, 20, MPI_INT, right, 2, world, &requests[3]));
  requests[4] = MPI_REQUEST_NULL;
  CALL(MPI_Recv_init, (in + 100, 100, MPI_INT, left, 3, world, &requests[5]));
  CALL(MPI_Waitany, (n, requests, &index, &status));
  HOLDS(index == MPI_UNDEFINED);
  CALL(MPI_Testany, (n, requests, &index, &flag, &status));
  HOLDS(flag && index == MPI_UNDEFINED);
  CALL(MPI_Waitsome, (n, requests, &count, indices, statuses));
  HOLDS(count == MPI_UNDEFINED);
  CALL(MPI_Testsome, (n, requests, &count, indices, statuses));
  HOLDS(count == MPI_UNDEFINED);
  CALL(MPI_Wait, (requests, &status));
  CALL(MPI_Test, (requests, &flag, &status));
  CALL(MPI_Request_get_status, (requests[0], &flag, &status));
  HOLDS(flag);
  for (int round = 0; round < rounds; ++round) {
    CALL(MPI_Start, (&requests[0]), path = last);
    CALL(MPI_Start, (&requests[2]), sent(1, 10 * I));
    CALL(MPI_Waitall, (n, requests, round % 2 ? statuses : MPI_STATUSES_IGNORE), arrived(path, 10 * I));
    CALL(MPI_Start, (&requests[1]), path = last);
    CALL(MPI_Start, (&requests[3]), sent(1, 20 * I));
    CALL(MPI_Wait, (&requests[0], &status));
    show_status("inactive", &status);
    for (int left_over = 2; left_over;) {
      CALL(MPI_Waitsome, (n, requests, &count, indices, MPI_STATUSES_IGNORE));
      for (int i = 0; i < count; ++i)
        if (indices[i] == 1) arrived(path, 20 * I);
      left_over -= count;
    }
    CALL(MPI_Waitall, (n, requests, statuses));
  }
  show("received", in, 200 * I);
  for (int i = 0; i < n; ++i)
    if (i != 4) CALL(MPI_Request_free, (&requests[i]));
}

/* One handle after the other, mostly with the same value. */
PATH static void used_again(int times) {
  FUNCTION;
  for (int i = 0; i < times; ++i) {
    Path* path;
    CALL(MPI_Irecv, (in, room, MPI_INT, left, 3, world, &requests[0]), path = last);
    CALL(MPI_Isend, (out, i, MPI_INT, right, 3, world, &requests[1]), sent(1, i * I));
    CALL(MPI_Wait, (&requests[i % 2], MPI_STATUS_IGNORE));
    if (i % 2 == 0) arrived(path, i * I);
    CALL(MPI_Wait, (&requests[1 - i % 2], MPI_STATUS_IGNORE));
    if (i % 2) arrived(path, i * I);
  }
  show("received", in, times * I);
}

PATH static void cancelled(int n) {
  FUNCTION;
  MPI_Status status;
  int flag;
  for (int i = 0; i < n; ++i) {
    CALL(MPI_Irecv, (in, room, MPI_INT, i % 2 ? left : MPI_ANY_SOURCE, 98, world, &requests[0]));
    CALL(MPI_Cancel, (&requests[0]));
    if (i % 3) {
      CALL(MPI_Wait, (&requests[0], i == 1 ? MPI_STATUS_IGNORE : &status));
    } else {
      do CALL(MPI_Test, (&requests[0], &flag, &status));
      while (!flag);
    }
    if (i != 1) {
      int was_cancelled;
      CALL(MPI_Test_cancelled, (&status, &was_cancelled));
      HOLDS(was_cancelled);
    }
  }
  /* Cancelled beside others that are not. */
  Path* path;
  CALL(MPI_Irecv, (in, room, MPI_INT, left, 97, world, &requests[0]));
  CALL(MPI_Irecv, (in, room, MPI_INT, left, 96, world, &requests[1]), path = last);
  CALL(MPI_Cancel, (&requests[0]));
  CALL(MPI_Send, (out, n, MPI_INT, right, 96, world), sent(1, n * I));
  CALL(MPI_Waitall, (2, requests, MPI_STATUSES_IGNORE), arrived(path, n * I));
  /* Cancelled too late: it has come. */
  CALL(MPI_Irecv, (in, room, MPI_INT, left, 95, world, &requests[0]), path = last);
  CALL(MPI_Send, (out, n + 1, MPI_INT, right, 95, world), sent(1, (n + 1) * I));
  do CALL(MPI_Request_get_status, (requests[0], &flag, MPI_STATUS_IGNORE));
  while (!flag);
  CALL(MPI_Cancel, (&requests[0]));
  CALL(MPI_Wait, (&requests[0], &status), arrived(path, (n + 1) * I));
  show_status("too late", &status);
}

/* A send that is freed is counted when it begins; what a freed receive brings nobody learns. */
PATH static void freed(int n) {
  FUNCTION;
  static int kept[few][1000];
  for (int i = 0; i < few; ++i) {
    CALL(MPI_Irecv, (kept[i], 1000, MPI_INT, left, 80 + i, world, &requests[0]));
    CALL(MPI_Request_free, (&requests[0]));
    HOLDS(requests[0] == MPI_REQUEST_NULL);
    CALL(MPI_Isend, (out, n, MPI_INT, right, 80 + i, world, &requests[1]), sent(1, n * I));
    CALL(MPI_Request_free, (&requests[1]));
  }
  /* Messages do not overtake: after these all have come. */
  Path* path;
  for (int i = 0; i < 3; ++i) {
    CALL(MPI_Irecv, (in, room, MPI_INT, left, 80, world, &requests[0]), path = last);
    CALL(MPI_Send, (out, n + i, MPI_INT, right, 80, world), sent(1, (n + i) * I));
    CALL(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE), arrived(path, (n + i) * I));
    CALL(MPI_Barrier, (world));
  }
  show("received", in, n * I);
}

/* An operation of the program's own. */
static int queries, frees, cancels;
static int query(void* extra, MPI_Status* status) {
  ++queries;
  PMPI_Status_set_elements(status, MPI_INT, *(int*)extra);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 3;
  status->MPI_TAG = 4;
  return MPI_SUCCESS;
}
static int release(void* extra) {
  (void)extra;
  ++frees;
  return MPI_SUCCESS;
}
static int cancel(void* extra, int complete) {
  (void)extra, (void)complete;
  ++cancels;
  return MPI_SUCCESS;
}

PATH static void generalized(int n) {
  FUNCTION;
  int value = 5, flag;
  MPI_Status status;
  for (int i = 0; i < n; ++i) {
    Path* path;
    CALL(MPI_Grequest_start, (query, release, cancel, &value, &requests[0]));
    CALL(MPI_Irecv, (in, room, MPI_INT, left, 70, world, &requests[1]), path = last);
    CALL(MPI_Test, (&requests[0], &flag, &status));
    HOLDS(!flag);
    if (i == 1) CALL(MPI_Cancel, (&requests[0]));
    CALL(MPI_Grequest_complete, (requests[0]));
    CALL(MPI_Send, (out, i + 1, MPI_INT, right, 70, world), sent(1, (i + 1) * I));
    if (i % 2) {
      CALL(MPI_Waitall, (2, requests, statuses), arrived(path, (i + 1) * I));
      show_status("generalized", &statuses[0]);
    } else {
      CALL(MPI_Wait, (&requests[0], &status));
      show_status("generalized", &status);
      CALL(MPI_Wait, (&requests[1], &status), arrived(path, (i + 1) * I));
    }
  }
  say("%d queries, %d frees, %d cancels", queries, frees, cancels);
}

MAIN({
  few_requests();
  many_requests();
  nothing();
  inactive(1);
  inactive(6);
  used_again(5);
  used_again(300);
  cancelled(2);
  cancelled(5);
  freed(10);
  freed(900);
  generalized(2);
  generalized(5);
})

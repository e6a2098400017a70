/* Collective operations on communicators and intercommunicators: blocking, non-blocking and persistent; by every rank
 * as the root; in place and not. What each rank sends and receives is that of the table in
 * adapters/mpi/calls/traffic.hpp. */
#include "conformance.h"

static int me, n; /* rank in and size of the communicator */
static int local; /* of an intercommunicator: ranks on this side; n is that of the other */
static count_t counts[max_ranks];
static displacement_t offsets[max_ranks];
static long long all, own; /* sum of the counts, that of this rank */

/* Rank i has step * i + 1 items. */
INLINE void count_items(int ranks, int step) {
  all = 0;
  for (int i = 0; i < ranks; ++i) {
    counts[i] = step * i + 1;
    offsets[i] = 1000 * i;
    all += counts[i];
  }
}

INLINE void clear(void) { memset(in, 0, sizeof in); }

PATH static void rooted(MPI_Comm comm, count_t c, int root) {
  FUNCTION;
  const int is_root = me == root;
  MPI_Request request;
  clear();
  if (is_root) memcpy(in, out, c * I);
  FORMS(Bcast, Ibcast, (in, c, MPI_INT, root, comm), sent(0, is_root ? n * c * I : 0), received(0, c * I));
  show("broadcast", in, c * I);
  FORMS(Gather, Igather, (out, c, MPI_INT, in, c, MPI_INT, root, comm), sent(0, c * I),
        received(0, is_root ? n * c * I : 0));
  show("gathered", in, n * c * I);
  FORMS(Gather, Igather, (is_root ? MPI_IN_PLACE : out, c, MPI_INT, in, c, MPI_INT, root, comm),
        sent(0, is_root ? 0 : c * I), received(0, is_root ? (n - 1) * c * I : 0));
  FORMS(Scatter, Iscatter, (out, c, MPI_INT, in, c, MPI_INT, root, comm), sent(0, is_root ? n * c * I : 0),
        received(0, c * I));
  show("scattered", in, n * c * I);
  FORMS(Scatter, Iscatter, (out, c, MPI_INT, is_root ? MPI_IN_PLACE : in, c, MPI_INT, root, comm),
        sent(0, is_root ? (n - 1) * c * I : 0), received(0, is_root ? 0 : c * I));
  clear();
  count_items(n, c);
  own = counts[me];
  FORMS(Gatherv, Igatherv, (out, own, MPI_INT, in, counts, offsets, MPI_INT, root, comm), sent(0, own * I),
        received(0, is_root ? all * I : 0));
  show("pieces gathered", in, sizeof in);
  if (is_root) {
    FORMS(Gatherv, Igatherv, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, offsets, MPI_INT, root, comm),
          received(0, (all - own) * I));
    FORMS(Scatterv, Iscatterv, (out, counts, offsets, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, comm),
          sent(0, (all - own) * I));
  } else { /* what means something at the root only is not looked at */
    FORMS(Gatherv, Igatherv, (out, own, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, root, comm), sent(0, own * I));
    FORMS(Scatterv, Iscatterv, (NULL, NULL, NULL, MPI_DATATYPE_NULL, in, own, MPI_INT, root, comm),
          received(0, own * I));
  }
  FORMS(Scatterv, Iscatterv, (out, counts, offsets, MPI_INT, in, own, MPI_INT, root, comm),
        sent(0, is_root ? all * I : 0), received(0, own * I));
  show("pieces scattered", in, sizeof in);
  FORMS(Reduce, Ireduce, (out, in, c, MPI_INT, MPI_SUM, root, comm), sent(0, c * I),
        received(0, is_root ? n * c * I : 0));
  if (is_root) show("reduced", in, c * I);
  memcpy(in, out, c * I);
  if (is_root) {
    /* Only once: every form would add to the result of the one before. */
    CALL(MPI_Reduce, (MPI_IN_PLACE, in, c, MPI_INT, MPI_MAX, root, comm), received(0, (n - 1) * c * I));
    CALL(MPI_Ireduce, (MPI_IN_PLACE, in, c, MPI_INT, MPI_MAX, root, comm, &request), received(0, (n - 1) * c * I));
  } else {
    CALL(MPI_Reduce, (out, NULL, c, MPI_INT, MPI_MAX, root, comm), sent(0, c * I));
    CALL(MPI_Ireduce, (out, NULL, c, MPI_INT, MPI_MAX, root, comm, &request), sent(0, c * I));
  }
  CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE));
  show("maximum", in, c * I);
}

PATH static void everybody(MPI_Comm comm, count_t c) {
  FUNCTION;
  clear();
  FORMS(Allgather, Iallgather, (out, c, MPI_INT, in, c, MPI_INT, comm), sent(0, n * c * I), received(0, n * c * I));
  show("gathered", in, n * c * I);
  FORMS(Allgather, Iallgather, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, c, MPI_INT, comm), sent(0, (n - 1) * c * I),
        received(0, (n - 1) * c * I));
  clear();
  count_items(n, c);
  own = counts[me];
  FORMS(Allgatherv, Iallgatherv, (out, own, MPI_INT, in, counts, offsets, MPI_INT, comm), sent(0, n * own * I),
        received(0, all * I));
  show("pieces gathered", in, sizeof in);
  FORMS(Allgatherv, Iallgatherv, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, offsets, MPI_INT, comm),
        sent(0, (n - 1) * own * I), received(0, (all - own) * I));
  clear();
  FORMS(Alltoall, Ialltoall, (out, c, MPI_INT, in, c, MPI_INT, comm), sent(0, n * c * I), received(0, n * c * I));
  show("exchanged", in, n * c * I);
  CALL(MPI_Alltoall, (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, c, MPI_INT, comm), sent(0, (n - 1) * c * I),
       received(0, (n - 1) * c * I));
  show("in place", in, n * c * I);
  FORMS(Allreduce, Iallreduce, (out, in, c, MPI_INT, MPI_MIN, comm), sent(0, n * c * I), received(0, n * c * I));
  show("reduced", in, c * I);
  FORMS(Allreduce, Iallreduce, (MPI_IN_PLACE, in, c, MPI_INT, MPI_MIN, comm), sent(0, (n - 1) * c * I),
        received(0, (n - 1) * c * I));
  FORMS(Reduce_scatter, Ireduce_scatter, (out, in, counts, MPI_INT, MPI_SUM, comm), sent(0, all * I),
        received(0, n * own * I));
  show("scattered", in, own * I);
  memcpy(in, out, all * I);
  CALL(MPI_Reduce_scatter, (MPI_IN_PLACE, in, counts, MPI_INT, MPI_SUM, comm), sent(0, (all - own) * I),
       received(0, (n - 1) * own * I));
  show("scattered in place", in, own * I);
  FORMS(Reduce_scatter_block, Ireduce_scatter_block, (out, in, c, MPI_INT, MPI_SUM, comm), sent(0, n * c * I),
        received(0, n * c * I));
  show("scattered blocks", in, c * I);
  memcpy(in, out, n * c * I);
  CALL(MPI_Reduce_scatter_block, (MPI_IN_PLACE, in, c, MPI_INT, MPI_SUM, comm), sent(0, (n - 1) * c * I),
       received(0, (n - 1) * c * I));
  show("scattered blocks in place", in, c * I);
  FORMS(Scan, Iscan, (out, in, c, MPI_INT, MPI_SUM, comm), sent(0, (n - me) * c * I), received(0, (me + 1) * c * I));
  show("scan", in, c * I);
  memcpy(in, out, c * I);
  CALL(MPI_Scan, (MPI_IN_PLACE, in, c, MPI_INT, MPI_SUM, comm), sent(0, (n - me - 1) * c * I), received(0, me * c * I));
  show("scan in place", in, c * I);
  clear();
  FORMS(Exscan, Iexscan, (out, in, c, MPI_INT, MPI_SUM, comm), sent(0, (n - me - 1) * c * I), received(0, me * c * I));
  if (me) show("exscan", in, c * I);
  FORMS(Barrier, Ibarrier, (comm));
}

PATH static void pieces(MPI_Comm comm, int c) {
  FUNCTION;
  count_t send_counts[max_ranks], receive_counts[max_ranks];
  displacement_t bytes[max_ranks];
  MPI_Datatype types[max_ranks];
  long long to_all = 0, from_all = 0, from_others = 0;
  for (int i = 0; i < n; ++i) {
    offsets[i] = 1000 * i;
    bytes[i] = 1000 * i * I;
    types[i] = (me + i) % 2 ? MPI_INT : MPI_FLOAT; /* of the same size */
    to_all += send_counts[i] = c + me + 2 * i;
    from_all += receive_counts[i] = c + i + 2 * me;
    if (i != me) from_others += c + i + me;
  }
  clear();
  FORMS(Alltoallv, Ialltoallv, (out, send_counts, offsets, MPI_INT, in, receive_counts, offsets, MPI_INT, comm),
        sent(0, to_all * I), received(0, from_all * I));
  show("pieces", in, sizeof in);
  clear();
  FORMS(Alltoallw, Ialltoallw, (out, send_counts, bytes, types, in, receive_counts, bytes, types, comm),
        sent(0, to_all * I), received(0, from_all * I));
  show("pieces of types", in, sizeof in);
  for (int i = 0; i < n; ++i) receive_counts[i] = c + i + me; /* as many to a rank as from it */
  CALL(MPI_Alltoallv, (MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, receive_counts, offsets, MPI_INT, comm),
       sent(0, from_others * I), received(0, from_others * I));
  show("pieces in place", in, sizeof in);
  CALL(MPI_Alltoallw, (MPI_IN_PLACE, NULL, NULL, NULL, in, receive_counts, bytes, types, comm),
       sent(0, from_others * I), received(0, from_others * I));
  show("pieces of types in place", in, sizeof in);
}

PATH static void small(MPI_Comm comm) {
  FUNCTION;
  for (int root = 0; root < n; ++root) rooted(comm, 3, root);
  everybody(comm, 5);
  pieces(comm, 2);
}
PATH static void medium(MPI_Comm comm) {
  FUNCTION;
  rooted(comm, 300, n - 1);
  everybody(comm, 211);
  pieces(comm, 100);
}
/* Not even one item. */
PATH static void empty(MPI_Comm comm) {
  FUNCTION;
  rooted(comm, 0, 0);
  everybody(comm, 0);
  pieces(comm, 0);
}

/* Between the even ranks and the odd ones. */
PATH static void between_groups(MPI_Comm comm, count_t c, int even) {
  FUNCTION;
  /* The first of the even ranks is the root for all odd ones. */
  const int root = even ? me == 0 ? MPI_ROOT : MPI_PROC_NULL : 0;
  const int is_root = root == MPI_ROOT, is_leaf = !even;
  clear();
  if (is_root) memcpy(in, out, c * I);
  FORMS(Bcast, Ibcast, (in, c, MPI_INT, root, comm), sent(0, is_root ? n * c * I : 0),
        received(0, is_leaf ? c * I : 0));
  show("broadcast", in, c * I);
  FORMS(Gather, Igather, (out, c, MPI_INT, in, c, MPI_INT, root, comm), sent(0, is_leaf ? c * I : 0),
        received(0, is_root ? n * c * I : 0));
  FORMS(Scatter, Iscatter, (out, c, MPI_INT, in, c, MPI_INT, root, comm), sent(0, is_root ? n * c * I : 0),
        received(0, is_leaf ? c * I : 0));
  show("scattered", in, n * c * I);
  clear();
  count_items(is_leaf ? local : n, c); /* what an odd rank has */
  own = is_leaf ? counts[me] : 0;
  FORMS(Gatherv, Igatherv, (out, own, MPI_INT, in, counts, offsets, MPI_INT, root, comm),
        sent(0, is_leaf ? own * I : 0), received(0, is_root ? all * I : 0));
  FORMS(Scatterv, Iscatterv, (out, counts, offsets, MPI_INT, in, own, MPI_INT, root, comm),
        sent(0, is_root ? all * I : 0), received(0, is_leaf ? own * I : 0));
  show("pieces", in, sizeof in);
  FORMS(Reduce, Ireduce, (out, in, c, MPI_INT, MPI_MAX, root, comm), sent(0, is_leaf ? c * I : 0),
        received(0, is_root ? n * c * I : 0));
  show("reduced", in, c * I);

  /* Everybody with everybody on the other side, the even ranks with twice as many items. */
  const count_t mine = even ? 2 * c : c, theirs = even ? c : 2 * c;
  clear();
  FORMS(Allgather, Iallgather, (out, mine, MPI_INT, in, theirs, MPI_INT, comm), sent(0, n * mine * I),
        received(0, n * theirs * I));
  count_items(n, theirs);
  FORMS(Allgatherv, Iallgatherv, (out, mine * me + 1, MPI_INT, in, counts, offsets, MPI_INT, comm),
        sent(0, n * (mine * me + 1) * I), received(0, all * I));
  FORMS(Alltoall, Ialltoall, (out, mine, MPI_INT, in, theirs, MPI_INT, comm), sent(0, n * mine * I),
        received(0, n * theirs * I));
  show("exchanged", in, sizeof in);
  FORMS(Allreduce, Iallreduce, (out, in, c, MPI_INT, MPI_SUM, comm), sent(0, n * c * I), received(0, n * c * I));
  show("reduced", in, c * I);
  count_t send_counts[max_ranks], receive_counts[max_ranks];
  displacement_t bytes[max_ranks];
  MPI_Datatype types[max_ranks];
  long long to_all = 0, from_all = 0;
  for (int i = 0; i < n; ++i) {
    bytes[i] = 1000 * i * I;
    types[i] = MPI_INT;
    to_all += send_counts[i] = c + (even ? 3 * me + i : me + 5 * i);
    from_all += receive_counts[i] = c + (even ? i + 5 * me : 3 * i + me);
  }
  clear();
  FORMS(Alltoallv, Ialltoallv, (out, send_counts, offsets, MPI_INT, in, receive_counts, offsets, MPI_INT, comm),
        sent(0, to_all * I), received(0, from_all * I));
  FORMS(Alltoallw, Ialltoallw, (out, send_counts, bytes, types, in, receive_counts, bytes, types, comm),
        sent(0, to_all * I), received(0, from_all * I));
  show("pieces", in, sizeof in);
  /* The result of one side is scattered on the other: as many items in all on both. */
  clear();
  const count_t part = c * n; /* c * local * n in all */
  for (int i = 0; i < local; ++i) counts[i] = part;
  FORMS(Reduce_scatter, Ireduce_scatter, (out, in, counts, MPI_INT, MPI_SUM, comm), sent(0, local * part * I),
        received(0, n * part * I));
  FORMS(Reduce_scatter_block, Ireduce_scatter_block, (out, in, part, MPI_INT, MPI_SUM, comm), sent(0, local * part * I),
        received(0, n * part * I));
  show("scattered", in, part * I);
  FORMS(Barrier, Ibarrier, (comm));
}

PATH static void intercommunicator(void) {
  FUNCTION;
  MPI_Comm half, inter;
  const int even = rank % 2 == 0;
  CALL(MPI_Comm_split, (world, rank % 2, rank, &half));
  CALL(MPI_Intercomm_create, (half, 0, world, even, 5, &inter));
  CALL(MPI_Comm_rank, (inter, &me));
  CALL(MPI_Comm_size, (inter, &local));
  CALL(MPI_Comm_remote_size, (inter, &n));
  between_groups(inter, 3, even);
  between_groups(inter, 70, even);
  CALL(MPI_Comm_free, (&inter));
  CALL(MPI_Comm_free, (&half));
}

/* More than one at a time, and many kinds together. */
PATH static void together(count_t c) {
  FUNCTION;
  MPI_Request requests[4];
  Path* path;
  clear();
  CALL(MPI_Ibcast, (in, c, MPI_INT, 0, world, &requests[0]), sent(0, rank ? 0 : size * c * I), received(0, c * I));
  CALL(MPI_Irecv, (in + 10000, room - 10000, MPI_INT, left, 1, world, &requests[1]), path = last);
  CALL(MPI_Iallreduce, (out, in + 20000, c, MPI_INT, MPI_SUM, world, &requests[2]), sent(0, size * c * I),
       received(0, size * c * I));
  CALL(MPI_Isend, (out, c, MPI_INT, right, 1, world, &requests[3]), sent(1, c * I));
  CALL(MPI_Waitall, (4, requests, MPI_STATUSES_IGNORE), arrived(path, c * I));
  show("together", in, sizeof in);
}

MAIN({
  me = rank;
  n = local = size;
  small(world);
  medium(world);
  empty(world);
  me = 0;
  n = local = 1;
  small(MPI_COMM_SELF);
  intercommunicator();
  together(1);
  together(500);
})

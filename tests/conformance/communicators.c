/* Every way to make a communicator; messages and collective operations on each. Argument "local": without new
 * processes, which "spawn" is for, or connections, "connect". */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance.h"

/* A message round and a sum on any communicator. */
PATH static void use(MPI_Comm comm, int n) {
  FUNCTION;
  int me, others, inter;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_rank(comm, &me);
  if (inter) {
    PMPI_Comm_remote_size(comm, &others);
  } else {
    PMPI_Comm_size(comm, &others);
  }
  int sum[4] = {me, 1, n, 0}, total[4];
  CALL(MPI_Allreduce, (sum, total, 4, MPI_INT, MPI_SUM, comm), sent(0, others * 4 * I), received(0, others * 4 * I));
  CALL(MPI_Barrier, (comm));
  if (!inter) {
    const int to = (me + 1) % others, from = (me + others - 1) % others;
    Path* path;
    MPI_Request request;
    memset(in, 0, n * I);
    CALL(MPI_Irecv, (in, n, MPI_INT, from, 1, comm, &request), path = last);
    CALL(MPI_Send, (out, n, MPI_INT, to, 1, comm), sent(1, n * I));
    CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE), arrived(path, n * I));
  }
  say("rank %d, %d others%s: %d %d %d, %016llx", me, others, inter ? " on the other side" : "", total[0], total[1],
      total[2], (unsigned long long)digest(in, n * I));
}

PATH static void duplicates(int n) {
  FUNCTION;
  MPI_Comm dup, with_info, idup, idup_with_info;
  MPI_Request requests[2];
  MPI_Info info;
  CALL(MPI_Info_create, (&info));
  CALL(MPI_Comm_dup, (world, &dup));
  CALL(MPI_Comm_set_name, (dup, "a duplicate"));
  CALL(MPI_Comm_dup_with_info, (dup, info, &with_info));
  CALL(MPI_Comm_idup, (dup, &idup, &requests[0]));
  CALL(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE));
#if MPI_VERSION >= 4
  CALL(MPI_Comm_idup_with_info, (idup, info, &idup_with_info, &requests[1]));
#else
  CALL(MPI_Comm_idup, (idup, &idup_with_info, &requests[1]));
#endif
  CALL(MPI_Comm_free, (&dup)); /* children outlive it */
  CALL(MPI_Waitall, (1, &requests[1], MPI_STATUSES_IGNORE));
  use(with_info, n);
  use(idup, n);
  use(idup_with_info, n);
  CALL(MPI_Comm_free, (&with_info));
  CALL(MPI_Comm_free, (&idup));
  CALL(MPI_Comm_free, (&idup_with_info));
  CALL(MPI_Info_free, (&info));
}

PATH static void parts(int n) {
  FUNCTION;
  MPI_Comm half, only_first, node, reverse;
  CALL(MPI_Comm_split, (world, rank % 2, -rank, &half));
  use(half, n);
  CALL(MPI_Comm_split, (world, rank ? MPI_UNDEFINED : 0, 0, &only_first));
  if (rank == 0) {
    use(only_first, n);
    CALL(MPI_Comm_free, (&only_first));
  } else {
    HOLDS(only_first == MPI_COMM_NULL);
  }
  CALL(MPI_Comm_split_type, (world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  use(node, n);
  CALL(MPI_Comm_split, (node, 0, -rank, &reverse));
  use(reverse, n);
  CALL(MPI_Comm_free, (&reverse));
  CALL(MPI_Comm_free, (&half));
  CALL(MPI_Comm_free, (&node));
}

PATH static void groups(int n) {
  FUNCTION;
  MPI_Group all, even, odd, first, none, together, both, rest;
  MPI_Comm comm;
  int ranks[max_ranks], translated[max_ranks], count = 0, members, me, result;
  int range[1][3] = {{0, size - 1, 2}};
  CALL(MPI_Comm_group, (world, &all));
  CALL(MPI_Group_range_incl, (all, 1, range, &even));
  CALL(MPI_Group_range_excl, (all, 1, range, &odd));
  CALL(MPI_Group_incl, (all, 1, (int[]){0}, &first));
  CALL(MPI_Group_excl, (all, 1, (int[]){0}, &rest));
  CALL(MPI_Group_union, (odd, even, &together));
  CALL(MPI_Group_intersection, (even, rest, &both));
  CALL(MPI_Group_difference, (all, all, &none));
  CALL(MPI_Group_compare, (all, together, &result));
  CALL(MPI_Group_size, (together, &members));
  CALL(MPI_Group_rank, (together, &me));
  for (int i = 0; i < members; ++i) ranks[count++] = i;
  CALL(MPI_Group_translate_ranks, (together, count, ranks, all, translated));
  say("%d members, rank %d, compared %d, first is %d", members, me, result, translated[0]);
  /* Only some have the result; collective over all, then over the members only. */
  CALL(MPI_Comm_create, (world, even, &comm));
  HOLDS((comm == MPI_COMM_NULL) == rank % 2);
  if (rank % 2 == 0) {
    use(comm, n);
    CALL(MPI_Comm_free, (&comm));
    CALL(MPI_Comm_create_group, (world, even, 7, &comm));
    use(comm, n);
    CALL(MPI_Comm_free, (&comm));
  } else {
    for (int i = 0; i < 2; ++i) {
      CALL(MPI_Comm_create_group, (world, odd, 7, &comm));
      use(comm, n);
      CALL(MPI_Comm_free, (&comm));
    }
  }
  CALL(MPI_Comm_create, (world, together, &comm)); /* other order */
  use(comm, n);
  CALL(MPI_Comm_free, (&comm));
  CALL(MPI_Comm_create, (world, none, &comm));
  HOLDS(comm == MPI_COMM_NULL);
  MPI_Group* made[] = {&all, &even, &odd, &first, &rest, &together, &both, &none};
  for (unsigned i = 0; i < sizeof made / sizeof *made; ++i) CALL(MPI_Group_free, (made[i]));
}

PATH static void topologies(int n) {
  FUNCTION;
  MPI_Comm grid, row, column, small, graph, adjacent, distributed;
  int dims[2] = {size, 1}, periods[2] = {1, 0}, keep_first[2] = {1, 0}, keep_second[2] = {0, 1};
  CALL(MPI_Cart_create, (world, 2, dims, periods, 0, &grid));
  use(grid, n);
  CALL(MPI_Cart_sub, (grid, keep_first, &row));
  CALL(MPI_Cart_sub, (grid, keep_second, &column));
  use(row, n);
  use(column, n);
  dims[0] = 1; /* one rank is in it */
  CALL(MPI_Cart_create, (world, 1, dims, periods, 0, &small));
  HOLDS((small == MPI_COMM_NULL) == (rank > 0));
  if (small != MPI_COMM_NULL) {
    use(small, n);
    CALL(MPI_Comm_free, (&small));
  }
  int index[max_ranks], edges[2 * max_ranks];
  for (int i = 0; i < size; ++i) {
    index[i] = 2 * i + 2;
    edges[2 * i] = (i + size - 1) % size;
    edges[2 * i + 1] = (i + 1) % size;
  }
  CALL(MPI_Graph_create, (world, size, index, edges, 0, &graph));
  use(graph, n);
  CALL(MPI_Dist_graph_create_adjacent,
       (world, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &adjacent));
  use(adjacent, n);
  CALL(MPI_Dist_graph_create, (world, 1, &rank, (int[]){1}, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &distributed));
  use(distributed, n);
  MPI_Comm* made[] = {&row, &column, &grid, &graph, &adjacent, &distributed};
  for (unsigned i = 0; i < sizeof made / sizeof *made; ++i) CALL(MPI_Comm_free, (made[i]));
}

PATH static void two_sides(int n) {
  FUNCTION;
  MPI_Comm half, inter, again, low, high, dup;
  MPI_Group remote;
  int members;
  CALL(MPI_Comm_split, (world, rank % 2, rank, &half));
  CALL(MPI_Intercomm_create, (half, 0, world, 1 - rank % 2, 5, &inter));
  use(inter, n);
  CALL(MPI_Comm_remote_group, (inter, &remote));
  CALL(MPI_Group_size, (remote, &members));
  CALL(MPI_Group_free, (&remote));
  say("%d on the other side", members);
  CALL(MPI_Comm_dup, (inter, &dup));
  use(dup, n);
  CALL(MPI_Intercomm_merge, (inter, rank % 2, &low));
  CALL(MPI_Intercomm_merge, (inter, 1 - rank % 2, &high));
  use(low, n);
  use(high, n);
  CALL(MPI_Comm_split, (inter, 0, rank, &again)); /* an intercommunicator, too */
  use(again, n);
  MPI_Comm* made[] = {&half, &again, &low, &high, &dup};
  for (unsigned i = 0; i < sizeof made / sizeof *made; ++i) CALL(MPI_Comm_free, (made[i]));
  CALL(MPI_Comm_disconnect, (&inter));
}

#if MPI_VERSION >= 4
/* Communicators that have no parent: of groups, of a session. */
PATH static void of_groups(int n) {
  FUNCTION;
  MPI_Group all, mine, theirs;
  MPI_Comm comm, inter;
  int range[1][3] = {{rank % 2, size - 1, 2}}, other[1][3] = {{1 - rank % 2, size - 1, 2}};
  CALL(MPI_Comm_group, (world, &all));
  CALL(MPI_Group_range_incl, (all, 1, range, &mine));
  CALL(MPI_Group_range_incl, (all, 1, other, &theirs));
  CALL(MPI_Comm_create_from_group, (mine, "of a group", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  use(comm, n);
  CALL(MPI_Comm_free, (&comm));
  CALL(MPI_Intercomm_create_from_groups,
       (mine, 0, theirs, 0, "of two groups", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &inter));
  use(inter, n);
  CALL(MPI_Comm_free, (&inter));
  CALL(MPI_Group_free, (&mine));
  CALL(MPI_Group_free, (&theirs));
  CALL(MPI_Group_free, (&all));
}
PATH static void session(int n) {
  FUNCTION;
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  CALL(MPI_Session_init, (MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  CALL(MPI_Group_from_session_pset, (session, "mpi://WORLD", &group));
  CALL(MPI_Comm_create_from_group, (group, "of a session", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  use(comm, n);
  CALL(MPI_Group_free, (&group));
  CALL(MPI_Comm_free, (&comm));
  CALL(MPI_Session_finalize, (&session));
}
#else
#define of_groups(n)
#define session(n)
#endif

/* Rank 0 and the others are strangers that meet. */
PATH static void meet(int n) {
  FUNCTION;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm side, inter;
  CALL(MPI_Comm_split, (world, rank > 0, rank, &side));
  if (rank == 0) CALL(MPI_Open_port, (MPI_INFO_NULL, port));
  CALL(MPI_Bcast, (port, sizeof port, MPI_CHAR, 0, world), sent(0, rank ? 0 : size * sizeof port),
       received(0, sizeof port));
  if (rank == 0) {
    CALL(MPI_Comm_accept, (port, MPI_INFO_NULL, 0, side, &inter));
    CALL(MPI_Close_port, (port));
  } else {
    CALL(MPI_Comm_connect, (port, MPI_INFO_NULL, 0, side, &inter));
  }
  use(inter, n);
  CALL(MPI_Comm_disconnect, (&inter));
  CALL(MPI_Comm_free, (&side));
}

/* Two ranks that have a socket. */
PATH static void join(int n) {
  FUNCTION;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int port = 0, connection;
  MPI_Comm inter;
  if (rank > 1) return;
  if (rank == 0) {
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    HOLDS(bind(listening, (struct sockaddr*)&address, sizeof address) == 0 && listen(listening, 1) == 0);
    getsockname(listening, (struct sockaddr*)&address, &length);
    port = address.sin_port;
    CALL(MPI_Send, (&port, 1, MPI_INT, 1, 1, world), sent(1, I));
    connection = accept(listening, NULL, NULL);
    close(listening);
  } else {
    CALL(MPI_Recv, (&port, 1, MPI_INT, 0, 1, world, MPI_STATUS_IGNORE), received(1, I));
    address.sin_port = (in_port_t)port;
    connection = socket(AF_INET, SOCK_STREAM, 0);
    HOLDS(connect(connection, (struct sockaddr*)&address, sizeof address) == 0);
  }
  HOLDS(connection >= 0);
  CALL(MPI_Comm_join, (connection, &inter));
  HOLDS(inter != MPI_COMM_NULL);
  use(inter, n);
  CALL(MPI_Comm_disconnect, (&inter));
  close(connection);
}

/* New processes, which run this program, too. */
static char* program;
PATH static void talk(MPI_Comm inter, int parent, int n) {
  FUNCTION;
  int children, me;
  MPI_Comm merged;
  int items = n;
  PMPI_Comm_rank(inter, &me);
  PMPI_Comm_remote_size(inter, &children);
  CALL(MPI_Bcast, (&items, 1, MPI_INT, parent ? me ? MPI_PROC_NULL : MPI_ROOT : 0, inter),
       sent(0, parent && !me ? children * I : 0), received(0, parent ? 0 : I));
  use(inter, n = items);
  if (parent) {
    if (me == 0)
      for (int i = 0; i < children; ++i) CALL(MPI_Send, (out, n + i, MPI_INT, i, 3, inter), sent(1, (n + i) * I));
  } else {
    CALL(MPI_Recv, (in, room, MPI_INT, 0, 3, inter, MPI_STATUS_IGNORE), received(1, (n + me) * I));
  }
  CALL(MPI_Intercomm_merge, (inter, !parent, &merged));
  use(merged, n);
  CALL(MPI_Comm_free, (&merged));
  CALL(MPI_Comm_disconnect, (&inter));
}
/* One at a time: when two begin at once, Open MPI's launcher now and then forgets one. */
PATH static void spawn(int n) {
  FUNCTION;
  MPI_Comm inter;
  int code;
  char* arguments[] = {"child", NULL};
  CALL(MPI_Comm_spawn, (program, arguments, 1, MPI_INFO_NULL, 0, world, &inter, &code));
  HOLDS(code == MPI_SUCCESS);
  talk(inter, 1, n);
}
PATH static void spawn_of_several(int n) {
  FUNCTION;
  MPI_Comm inter;
  int code, processes = 1;
  char *programs[] = {program}, *first[] = {"child", "again", NULL}, **arguments[] = {first};
  MPI_Info info = MPI_INFO_NULL;
  CALL(MPI_Comm_spawn_multiple, (1, programs, arguments, &processes, &info, 0, world, &inter, &code));
  talk(inter, 1, n);
}

PATH static void few(void) {
  FUNCTION;
  duplicates(3);
  parts(3);
  groups(4);
  topologies(5);
  two_sides(6);
  of_groups(7);
  session(7);
}
PATH static void many(void) {
  FUNCTION;
  for (int i = 0; i < 5; ++i) {
    duplicates(300 + i);
    parts(400 + i);
    groups(500 + i);
  }
  topologies(600);
  two_sides(700);
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  program = argv[0];
  const char* what = argc > 1 ? argv[1] : "local";
  CALL(MPI_Init, (&argc, &argv));
  begin();
  CALL(MPI_Comm_get_parent, (&parent));
  if (parent != MPI_COMM_NULL) {
    talk(parent, 0, 0);
    CALL(MPI_Finalize, ());
    return 0; /* silent: the parent's output is what is compared */
  }
  if (!strcmp(what, "local")) {
    few();
    many();
  } else if (!strcmp(what, "connect")) {
    meet(3);
    meet(300);
    join(4);
  } else {
    spawn(1);
    spawn(20);
    spawn_of_several(3);
  }
  print();
  CALL(MPI_Finalize, ());
  return end();
}

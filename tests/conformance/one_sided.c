/* One-sided operations under every synchronisation, on every kind of window. The origin counts what it sends and
 * receives; nothing here is a message. */
#include "conformance.h"

enum { items = 4096 };
static double* memory; /* of the window */
static double local[items], result[items];
static MPI_Win win;
static int swaps = 1; /* MPI_Compare_and_swap works on this window */

INLINE void fill_window(void) {
  for (int i = 0; i < items; ++i) {
    memory[i] = rank * 10000 + i;
    local[i] = rank + i;
    result[i] = -1;
  }
}
HELPER void show_window(const char* what) {
  PMPI_Barrier(world);
  say("%s", what);
  show("window", memory, items * D);
  show("result", result, items * D);
  PMPI_Barrier(world);
}

/* All that moves data: places in the window do not overlap. */
PATH static void move(count_t n, int target) {
  FUNCTION;
  CALL(MPI_Put, (local, n, MPI_DOUBLE, target, 0, n, MPI_DOUBLE, win), sent(0, n * D));
  CALL(MPI_Get, (result, n, MPI_DOUBLE, target, 500, n, MPI_DOUBLE, win), received(0, n * D));
  CALL(MPI_Accumulate, (local, n, MPI_DOUBLE, target, 1000, n, MPI_DOUBLE, MPI_SUM, win), sent(0, n * D));
  CALL(MPI_Get_accumulate,
       (local, n, MPI_DOUBLE, result + 500, n, MPI_DOUBLE, target, 1500, n, MPI_DOUBLE, MPI_SUM, win), sent(0, n * D),
       received(0, n * D));
  CALL(MPI_Get_accumulate,
       (NULL, 0, MPI_DATATYPE_NULL, result + 1000, n, MPI_DOUBLE, target, 2000, n, MPI_DOUBLE, MPI_NO_OP, win),
       received(0, n * D));
  CALL(MPI_Fetch_and_op, (local, result + 1500, MPI_DOUBLE, target, 2500, MPI_REPLACE, win), sent(0, D),
       received(0, D));
  CALL(MPI_Fetch_and_op, (NULL, result + 1501, MPI_DOUBLE, target, 2501, MPI_NO_OP, win), received(0, D));
}

PATH static void move_nothing(count_t n) {
  FUNCTION;
  CALL(MPI_Put, (local, n, MPI_DOUBLE, MPI_PROC_NULL, 0, n, MPI_DOUBLE, win));
  CALL(MPI_Get, (result, n, MPI_DOUBLE, MPI_PROC_NULL, 0, n, MPI_DOUBLE, win));
  CALL(MPI_Accumulate, (local, n, MPI_DOUBLE, MPI_PROC_NULL, 0, n, MPI_DOUBLE, MPI_SUM, win));
  CALL(MPI_Get_accumulate,
       (local, n, MPI_DOUBLE, result, n, MPI_DOUBLE, MPI_PROC_NULL, 0, n, MPI_DOUBLE, MPI_SUM, win));
  CALL(MPI_Fetch_and_op, (local, result, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_SUM, win));
  CALL(MPI_Put, (local, 0, MPI_DOUBLE, right, 0, 0, MPI_DOUBLE, win));
  CALL(MPI_Get, (result, 0, MPI_DOUBLE, right, 0, 0, MPI_DOUBLE, win));
}

/* With requests, and what the atomic ones add: only within an epoch of locks. */
PATH static void move_by_request(count_t n, int target) {
  FUNCTION;
  MPI_Request requests[4];
  CALL(MPI_Rput, (local, n, MPI_DOUBLE, target, 0, n, MPI_DOUBLE, win, &requests[0]), sent(0, n * D));
  CALL(MPI_Rget, (result, n, MPI_DOUBLE, target, 500, n, MPI_DOUBLE, win, &requests[1]), received(0, n * D));
  CALL(MPI_Raccumulate, (local, n, MPI_DOUBLE, target, 1000, n, MPI_DOUBLE, MPI_SUM, win, &requests[2]),
       sent(0, n * D));
  CALL(MPI_Rget_accumulate,
       (local, n, MPI_DOUBLE, result + 500, n, MPI_DOUBLE, target, 1500, n, MPI_DOUBLE, MPI_SUM, win, &requests[3]),
       sent(0, n * D), received(0, n * D));
  CALL(MPI_Waitall, (4, requests, MPI_STATUSES_IGNORE));
  CALL(MPI_Rput, (local, n, MPI_DOUBLE, MPI_PROC_NULL, 0, n, MPI_DOUBLE, win, &requests[0]));
  CALL(MPI_Wait, (&requests[0], MPI_STATUS_IGNORE));
}

PATH static void swap(int target, int times) {
  FUNCTION;
  long long* words = (long long*)(local + 3000); /* bits of doubles will do */
  for (int i = 0; i < times; ++i) {
    words[0] = 4;
    words[1] = 5;
    CALL(MPI_Compare_and_swap, (&words[0], &words[1], result + 3000 + i, MPI_LONG_LONG, target, 3000 + i, win),
         sent(0, D), received(0, D));
  }
  CALL(MPI_Compare_and_swap, (&words[0], &words[1], result + 3500, MPI_LONG_LONG, MPI_PROC_NULL, 0, win));
}

PATH static void fence(count_t n) {
  FUNCTION;
  fill_window();
  CALL(MPI_Win_fence, (MPI_MODE_NOPRECEDE, win));
  move(n, right);
  move_nothing(n);
  CALL(MPI_Win_fence, (0, win));
  CALL(MPI_Win_fence, (MPI_MODE_NOSUCCEED, win));
  show_window("fence");
}

/* Each rank is a target for the left one and an origin for the right one. */
PATH static void post_and_start(count_t n) {
  FUNCTION;
  MPI_Group everybody, origins, targets;
  int flag = 0;
  CALL(MPI_Win_get_group, (win, &everybody));
  CALL(MPI_Group_incl, (everybody, 1, &left, &origins));
  CALL(MPI_Group_incl, (everybody, 1, &right, &targets));
  for (int round = 0; round < 2; ++round) {
    fill_window();
    CALL(MPI_Win_post, (origins, 0, win));
    CALL(MPI_Win_start, (targets, 0, win));
    move(n, right);
    CALL(MPI_Win_complete, (win));
    if (round) {
      for (flag = 0; !flag;) CALL(MPI_Win_test, (win, &flag));
    } else {
      CALL(MPI_Win_wait, (win));
    }
    show_window("post and start");
  }
  CALL(MPI_Group_free, (&everybody));
  CALL(MPI_Group_free, (&origins));
  CALL(MPI_Group_free, (&targets));
}

PATH static void lock_one(count_t n) {
  FUNCTION;
  fill_window();
  CALL(MPI_Barrier, (world));
  CALL(MPI_Win_lock, (MPI_LOCK_SHARED, right, 0, win));
  move(n, right);
  CALL(MPI_Win_flush_local, (right, win));
  CALL(MPI_Win_flush, (right, win));
  move_by_request(n, right);
  CALL(MPI_Win_unlock, (right, win));
  show_window("shared lock");
  CALL(MPI_Win_lock, (MPI_LOCK_EXCLUSIVE, right, 0, win));
  if (swaps) swap(right, n % 7 + 1);
  CALL(MPI_Win_unlock, (right, win));
  show_window("exclusive lock");
}

PATH static void lock_all(count_t n) {
  FUNCTION;
  fill_window();
  CALL(MPI_Barrier, (world));
  CALL(MPI_Win_lock_all, (0, win));
  move(n, right);
  CALL(MPI_Win_flush_local_all, (win));
  CALL(MPI_Win_flush_all, (win));
  move_by_request(n, right);
  CALL(MPI_Win_sync, (win));
  CALL(MPI_Win_unlock_all, (win));
  show_window("all locked");
}

PATH static void all_ways(count_t n) {
  FUNCTION;
  fence(n);
  post_and_start(n);
  lock_one(n);
  lock_all(n);
}

PATH static void created(void) {
  FUNCTION;
  memory = calloc(items, D);
  CALL(MPI_Win_create, (memory, items * D, D, MPI_INFO_NULL, world, &win));
  all_ways(10);
  all_ways(301);
  CALL(MPI_Win_free, (&win));
  HOLDS(win == MPI_WIN_NULL);
  free(memory);
}
PATH static void allocated(void) {
  FUNCTION;
#ifdef OPEN_MPI /* 4.1 crashes when memory is shared between the ranks */
  swaps = 0;
#endif
  CALL(MPI_Win_allocate, (items * D, D, MPI_INFO_NULL, world, &memory, &win));
  all_ways(20);
  CALL(MPI_Win_free, (&win));
}
PATH static void shared(void) {
  FUNCTION;
  MPI_Aint bytes;
  unit_t unit;
  double* of_neighbor;
  CALL(MPI_Win_allocate_shared, (items * D, D, MPI_INFO_NULL, world, &memory, &win));
  CALL(MPI_Win_shared_query, (win, right, &bytes, &unit, &of_neighbor));
  HOLDS(bytes == items * D && unit == D && of_neighbor);
  fence(30);
  lock_all(30);
  CALL(MPI_Win_free, (&win));
}
/* Memory is attached later; targets are told by addresses. */
PATH static void dynamic(count_t n) {
  FUNCTION;
  MPI_Aint mine, theirs;
  double* attached = calloc(items, D);
  memory = attached;
  fill_window();
  CALL(MPI_Win_create_dynamic, (MPI_INFO_NULL, world, &win));
  CALL(MPI_Win_attach, (win, attached, items * D));
  CALL(MPI_Get_address, (attached, &mine));
  CALL(MPI_Sendrecv, (&mine, 1, MPI_AINT, left, 1, &theirs, 1, MPI_AINT, right, 1, world, MPI_STATUS_IGNORE),
       sent(1, sizeof mine), received(1, sizeof mine));
  CALL(MPI_Win_fence, (0, win));
  CALL(MPI_Put, (local, n, MPI_DOUBLE, right, theirs, n, MPI_DOUBLE, win), sent(0, n * D));
  CALL(MPI_Get, (result, n, MPI_DOUBLE, right, theirs + 500 * D, n, MPI_DOUBLE, win), received(0, n * D));
  CALL(MPI_Win_fence, (0, win));
  show_window("dynamic");
  CALL(MPI_Win_detach, (win, attached));
  CALL(MPI_Win_free, (&win));
  free(attached);
}

/* Names, attributes, info and what a window is made of. */
static int deleted;
static int delete_attribute(MPI_Win w, int key, void* value, void* extra) {
  (void)w, (void)key, (void)value, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}
PATH static void properties(void) {
  FUNCTION;
  char name[MPI_MAX_OBJECT_NAME];
  int length, keyval, flag, value = 7, *found;
  MPI_Info info;
  memory = local;
  CALL(MPI_Win_create, (memory, sizeof local, D, MPI_INFO_NULL, world, &win));
  CALL(MPI_Win_set_name, (win, "a window"));
  CALL(MPI_Win_get_name, (win, name, &length));
  CALL(MPI_Win_create_keyval, (MPI_WIN_NULL_COPY_FN, delete_attribute, &keyval, NULL));
  CALL(MPI_Win_set_attr, (win, keyval, &value));
  CALL(MPI_Win_get_attr, (win, keyval, &found, &flag));
  HOLDS(flag && found == &value);
  CALL(MPI_Win_delete_attr, (win, keyval));
  CALL(MPI_Win_free_keyval, (&keyval));
  CALL(MPI_Win_get_info, (win, &info));
  CALL(MPI_Win_set_info, (win, info));
  CALL(MPI_Info_free, (&info));
  say("%s, %d deleted", name, deleted);
  CALL(MPI_Win_free, (&win));
}

MAIN({
  created();
  allocated();
  shared();
  dynamic(10);
  dynamic(200);
  properties();
})

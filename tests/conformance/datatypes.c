/* Datatypes of every shape: as they are sent, received, packed, put into windows. Their sizes are sums written here. */
#include "conformance.h"

enum { extent_of_all = 1 << 15 }; /* bytes that the items of any type here lie in */
static int external_works = 1;

/* Sends `count` items of `type`, of `bytes` each, round the ring; receives them as they are, as bytes, or a part. */
PATH static void exchange(const char* what, MPI_Datatype type, count_t count, long long bytes) {
  FUNCTION;
  MPI_Status status;
  MPI_Request request;
  Path* path;
  memset(in, 0, extent_of_all);
  CALL(MPI_Sendrecv, (out + 100, count, type, right, 1, in + 100, count + 1, type, left, 1, world, &status),
       sent(1, count * bytes), received(1, count * bytes));
  say("%s", what);
  show_status("status", &status);
  show("items", in, extent_of_all);
  CALL(MPI_Irecv, (in, sizeof in, MPI_BYTE, left, 2, world, &request), path = last);
  CALL(MPI_Send, (out + 100, count, type, right, 2, world), sent(1, count * bytes));
  CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE), arrived(path, count * bytes));
  show("bytes", in, count * bytes);
}

PATH static void collective(MPI_Datatype type, count_t count, long long bytes) {
  FUNCTION;
  memset(in, 0, extent_of_all);
  memcpy(in + 100, out + 100, 4000);
  CALL(MPI_Bcast, (in + 100, count, type, 0, world), sent(0, rank ? 0 : size * count * bytes),
       received(0, count * bytes));
  CALL(MPI_Gather, (out + 100, count, type, in + 100, count, type, 0, world), sent(0, count * bytes),
       received(0, rank ? 0 : size * count * bytes));
  show("collective", in, extent_of_all);
}

PATH static void pack(MPI_Datatype type, count_t count, long long bytes) {
  FUNCTION;
  static char packed[1 << 17];
  pack_t position = 0, room_for = 0;
  CALL(MPI_Pack_size, (count, type, world, &room_for));
  HOLDS(room_for >= count * bytes && room_for <= (pack_t)sizeof packed);
  CALL(MPI_Pack, (out + 100, count, type, packed, sizeof packed, &position, world));
  HOLDS(position == count * bytes); /* between processes of one kind */
  MPI_Status status;
  static char arrived_packed[1 << 17];
  CALL(MPI_Sendrecv,
       (packed, position, MPI_PACKED, right, 3, arrived_packed, sizeof arrived_packed, MPI_PACKED, left, 3, world,
        &status),
       sent(1, count * bytes), received(1, count * bytes));
  position = 0;
  memset(in, 0, extent_of_all);
  CALL(MPI_Unpack, (arrived_packed, sizeof arrived_packed, &position, in + 100, count, type, world));
  show("unpacked", in, extent_of_all);
  if (!external_works) return;
  external_t external = 0, at = 0;
  CALL(MPI_Pack_external_size, ("external32", count, type, &external));
  HOLDS(external <= (external_t)sizeof packed);
  CALL(MPI_Pack_external, ("external32", out + 100, count, type, packed, sizeof packed, &at));
  HOLDS(at == external);
  at = 0;
  memset(in, 0, extent_of_all);
  CALL(MPI_Unpack_external, ("external32", packed, external, &at, in + 100, count, type));
  show("unpacked external", in, extent_of_all);
}

PATH static void put(MPI_Datatype type, count_t count, long long bytes) {
  FUNCTION;
  MPI_Win win;
  memset(in, 0, extent_of_all);
  CALL(MPI_Win_create, (in, sizeof in, 1, MPI_INFO_NULL, world, &win));
  CALL(MPI_Win_fence, (0, win));
  CALL(MPI_Put, (out + 100, count, type, right, 0, count * bytes, MPI_BYTE, win), sent(0, count * bytes));
  CALL(MPI_Win_fence, (0, win));
  CALL(MPI_Win_free, (&win));
  show("window", in, extent_of_all);
}

/* `size` bytes, from lb to ub. */
PATH static void look_at(const char* what, MPI_Datatype* type, long long bytes) {
  FUNCTION;
  address_t lb, extent, true_lb, true_extent;
  MPI_Count large_size, large_lb, large_extent;
  count_t told;
  int integers, addresses, types, combiner;
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  CALL(MPI_Type_commit, (type));
  CALL(MPI_Type_size, (*type, &told));
  CALL(MPI_Type_size_x, (*type, &large_size));
  HOLDS(told == bytes && large_size == bytes);
  CALL(MPI_Type_get_extent, (*type, &lb, &extent));
  CALL(MPI_Type_get_extent_x, (*type, &large_lb, &large_extent));
  HOLDS(large_lb == lb && large_extent == extent);
  CALL(MPI_Type_get_true_extent, (*type, &true_lb, &true_extent));
  CALL(MPI_Type_get_true_extent_x, (*type, &large_lb, &large_extent));
  HOLDS(large_lb == true_lb && large_extent == true_extent);
  CALL(MPI_Type_set_name, (*type, (char*)what));
  CALL(MPI_Type_get_name, (*type, name, &length));
#ifdef LARGE_COUNTS
  MPI_Count many_integers, many_addresses, counts, many_types;
  CALL(MPI_Type_get_envelope_c, (*type, &many_integers, &many_addresses, &counts, &many_types, &combiner));
  integers = many_integers, addresses = many_addresses, types = many_types;
  int the_integers[64];
  MPI_Aint the_addresses[64];
  MPI_Count the_counts[64];
  MPI_Datatype the_types[64];
  HOLDS(integers <= 64 && addresses <= 64 && counts <= 64 && types <= 64);
  CALL(MPI_Type_get_contents_c,
       (*type, integers, addresses, counts, types, the_integers, the_addresses, the_counts, the_types));
#else
  CALL(MPI_Type_get_envelope, (*type, &integers, &addresses, &types, &combiner));
  int the_integers[64];
  MPI_Aint the_addresses[64];
  MPI_Datatype the_types[64];
  HOLDS(integers <= 64 && addresses <= 64 && types <= 64);
  CALL(MPI_Type_get_contents, (*type, integers, addresses, types, the_integers, the_addresses, the_types));
#endif
  for (int i = 0; i < types; ++i) { /* derived ones are new handles */
    int n[3], of = 0;
#ifdef LARGE_COUNTS
    MPI_Count m[4];
    PMPI_Type_get_envelope_c(the_types[i], &m[0], &m[1], &m[2], &m[3], &of);
    (void)n;
#else
    PMPI_Type_get_envelope(the_types[i], &n[0], &n[1], &n[2], &of);
#endif
    if (of != MPI_COMBINER_NAMED && of != MPI_COMBINER_F90_INTEGER && of != MPI_COMBINER_F90_REAL)
      CALL(MPI_Type_free, (&the_types[i]));
  }
  say("%s: %lld bytes, from %lld, extent %lld, true %lld %lld", name, bytes, (long long)lb, (long long)extent,
      (long long)true_lb, (long long)true_extent);
}

PATH static void use(const char* what, MPI_Datatype type, long long bytes) {
  FUNCTION;
  look_at(what, &type, bytes);
  exchange(what, type, 1, bytes);
  exchange(what, type, 7, bytes);
  collective(type, 3, bytes);
  if (bytes) pack(type, 5, bytes); /* MPICH 4.0 stops when there is nothing to unpack */
  put(type, 2, bytes);
  CALL(MPI_Type_free, (&type));
  HOLDS(type == MPI_DATATYPE_NULL);
}

PATH static void simple(void) {
  FUNCTION;
  MPI_Datatype type;
  CALL(MPI_Type_contiguous, (9, MPI_INT, &type));
  use("contiguous", type, 9 * I);
  CALL(MPI_Type_vector, (4, 3, 5, MPI_INT, &type));
  use("vector", type, 4 * 3 * I);
  CALL(MPI_Type_vector, (4, 2, -3, MPI_INT, &type)); /* backwards */
  use("vector backwards", type, 4 * 2 * I);
  CALL(MPI_Type_create_hvector, (3, 2, 20, MPI_SHORT, &type));
  use("hvector", type, 3 * 2 * 2);
  CALL(MPI_Type_dup, (MPI_DOUBLE, &type));
  use("dup", type, D);
  CALL(MPI_Type_create_resized, (MPI_INT, -4, 24, &type));
  use("resized", type, I);
}

PATH static void indexed(void) {
  FUNCTION;
  MPI_Datatype type;
  count_t lengths[4] = {3, 0, 1, 5};
  items_t displacements[4] = {10, 3, 0, 20};
  address_t bytes[4] = {100, 8, 0, 60};
  CALL(MPI_Type_indexed, (4, lengths, displacements, MPI_INT, &type));
  use("indexed", type, (3 + 1 + 5) * I);
  CALL(MPI_Type_create_hindexed, (4, lengths, bytes, MPI_INT, &type));
  use("hindexed", type, (3 + 1 + 5) * I);
  CALL(MPI_Type_create_indexed_block, (4, 2, displacements, MPI_INT, &type));
  use("indexed block", type, 4 * 2 * I);
  CALL(MPI_Type_create_hindexed_block, (4, 3, bytes, MPI_INT, &type));
  use("hindexed block", type, 4 * 3 * I);
}

PATH static void structures(void) {
  FUNCTION;
#ifdef MPICH_VERSION /* 4.0 stops at the external size of a structure */
  external_works = 0;
#endif
  struct record {
    char c[3];
    double d;
    int i[2];
    short s;
  };
  MPI_Datatype record, resized, nested, vector, empty, pair;
  count_t lengths[4] = {3, 1, 2, 1};
  address_t bytes[4] = {offsetof(struct record, c), offsetof(struct record, d), offsetof(struct record, i),
                        offsetof(struct record, s)};
  MPI_Datatype types[4] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_SHORT};
  enum { packed = 3 + D + 2 * I + 2 };
  CALL(MPI_Type_create_struct, (4, lengths, bytes, types, &record));
  CALL(MPI_Type_create_resized, (record, 0, sizeof(struct record), &resized));
  CALL(MPI_Type_vector, (3, 2, 3, resized, &vector));
  count_t some[2] = {2, 1};
  address_t where[2] = {0, 400};
  MPI_Datatype mixed[2] = {vector, resized};
  CALL(MPI_Type_create_struct, (2, some, where, mixed, &nested));
  use("struct", record, packed);
  use("struct resized", resized, packed);
  use("nested", nested, (2 * 3 * 2 + 1) * packed);
  use("vector of structs", vector, 3 * 2 * packed);
  CALL(MPI_Type_create_struct, (0, lengths, bytes, types, &empty));
  use("nothing", empty, 0);
  CALL(MPI_Type_contiguous, (2, MPI_DOUBLE_INT, &pair));
  use("pair", pair, 2 * (D + I));
}

PATH static void arrays(void) {
  FUNCTION;
  external_works = 1;
  MPI_Datatype type;
  count_t sizes[3] = {6, 7, 8}, part[3] = {2, 3, 4}, starts[3] = {1, 2, 3};
  CALL(MPI_Type_create_subarray, (3, sizes, part, starts, MPI_ORDER_C, MPI_INT, &type));
  use("subarray", type, 2 * 3 * 4 * I);
  CALL(MPI_Type_create_subarray, (3, sizes, part, starts, MPI_ORDER_FORTRAN, MPI_SHORT, &type));
  use("subarray of columns", type, 2 * 3 * 4 * 2);
  int distributions[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2},
      processes[2] = {2, 2};
  count_t array[2] = {8, 8};
  CALL(MPI_Type_create_darray,
       (4, rank % 4, 2, array, distributions, arguments, processes, MPI_ORDER_C, MPI_INT, &type));
  use("darray", type, 8 / 2 * 8 / 2 * I);
}

/* What Fortran's kinds are called; predefined, so not freed. */
PATH static void kinds(void) {
  FUNCTION;
  MPI_Datatype type;
  CALL(MPI_Type_create_f90_integer, (9, &type));
  exchange("integer of 9 digits", type, 3, 4);
  CALL(MPI_Type_create_f90_real, (15, 300, &type));
  exchange("real of 15 digits", type, 3, 8);
  CALL(MPI_Type_create_f90_complex, (6, 30, &type));
  exchange("complex of 6 digits", type, 3, 8);
  CALL(MPI_Type_match_size, (MPI_TYPECLASS_REAL, 8, &type));
  exchange("real of 8 bytes", type, 4, 8);
  exchange("long double", MPI_LONG_DOUBLE, 2, sizeof(long double));
  exchange("complex", MPI_C_DOUBLE_COMPLEX, 2, 16);
  exchange("double and int", MPI_DOUBLE_INT, 3, D + I);
  exchange("short and int", MPI_SHORT_INT, 3, 2 + I);
}

/* Items and parts of items that arrive. */
PATH static void elements(int n) {
  FUNCTION;
  MPI_Datatype type;
  MPI_Status status;
  count_t items, basic;
  MPI_Count large;
  CALL(MPI_Type_contiguous, (4, MPI_INT, &type));
  CALL(MPI_Type_commit, (&type));
  CALL(MPI_Sendrecv, (out, n, MPI_INT, right, 5, in, n, type, left, 5, world, &status), sent(1, n * I),
       received(1, n * I));
  CALL(MPI_Get_count, (&status, type, &items));
  CALL(MPI_Get_elements, (&status, type, &basic));
  CALL(MPI_Get_elements_x, (&status, type, &large));
  say("%d integers: %lld items, %lld elements, %lld elements", n, items == MPI_UNDEFINED ? -1 : (long long)items,
      (long long)basic, (long long)large);
  CALL(MPI_Type_free, (&type));
}

/* A type that is freed lives on in what was begun with it; its handle comes back as another type's. */
PATH static void freed(count_t n) {
  FUNCTION;
  MPI_Datatype type;
  MPI_Request requests[2];
  Path* path;
  for (int i = 1; i < 30; ++i) {
    CALL(MPI_Type_vector, (i, 2, 3, MPI_INT, &type));
    CALL(MPI_Type_commit, (&type));
    CALL(MPI_Irecv, (in, n, type, left, 6, world, &requests[0]), path = last);
    CALL(MPI_Isend, (out, n, type, right, 6, world, &requests[1]), sent(1, n * i * 2 * I));
    CALL(MPI_Type_free, (&type));
    CALL(MPI_Waitall, (2, requests, MPI_STATUSES_IGNORE), arrived(path, n * i * 2 * I));
  }
  show("received", in, extent_of_all);
}

MAIN({
  simple();
  indexed();
  structures();
  arrays();
  kinds();
  elements(4);
  elements(7);
  freed(1);
  freed(20);
})

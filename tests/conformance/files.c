/* Files: independent and collective, at explicit offsets, by the individual and by the shared file pointer, in order,
 * split and non-blocking; through views. SCRATCH is a directory for them. */
#include "conformance.h"

/* MPICH 4.0 ends a program that makes a view of a datatype with large counts. */
#undef MPI_Type_vector
#undef MPI_Type_create_resized

static MPI_File file;
static MPI_Status status;
static MPI_Request request;
static Path* path;
static char name[4096];

HELPER void show_file(const char* what) {
  count_t count;
  PMPI_Barrier(world);
#ifdef LARGE_COUNTS
  PMPI_Get_count_c(&status, MPI_INT, &count);
#else
  PMPI_Get_count(&status, MPI_INT, &count);
#endif
  say("%s: %lld items", what, (long long)count);
}
INLINE void clear(void) { memset(in, 0, sizeof in); }
/* Neighbours have read what is written next. */
PATH static void all_read(void) {
  FUNCTION;
  CALL(MPI_Barrier, (world));
}
/* Between ranks that write and those that read. */
PATH static void settle(void) {
  FUNCTION;
  CALL(MPI_File_sync, (file));
  CALL(MPI_Barrier, (world));
  CALL(MPI_File_sync, (file));
}

PATH static void open_file(void) {
  FUNCTION;
  CALL(MPI_File_open, (world, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  CALL(MPI_File_set_size, (file, 0));
}
PATH static void close_file(void) {
  FUNCTION;
  MPI_Offset bytes;
  CALL(MPI_File_get_size, (file, &bytes));
  say("%lld bytes", (long long)bytes);
  CALL(MPI_File_close, (&file));
  HOLDS(file == MPI_FILE_NULL);
}

/* Every rank has n integers, at rank * n. */
PATH static void at_offsets(count_t n) {
  FUNCTION;
  open_file();
  const MPI_Offset mine = rank * n * I, theirs = right * n * I;
  CALL(MPI_File_write_at, (file, mine, out, n, MPI_INT, &status), wrote(n * I));
  show_file("write_at");
  settle();
  clear();
  CALL(MPI_File_read_at, (file, theirs, in, n, MPI_INT, MPI_STATUS_IGNORE), read_bytes(n * I));
  show("read_at", in, n * I);
  all_read();
  CALL(MPI_File_write_at_all, (file, mine, out + 1, n, MPI_INT, MPI_STATUS_IGNORE), wrote(n * I));
  settle();
  CALL(MPI_File_read_at_all, (file, theirs, in, n, MPI_INT, &status), read_bytes(n * I));
  show("read_at_all", in, n * I);
  all_read();
  CALL(MPI_File_write_at_all_begin, (file, mine, out + 2, n, MPI_INT));
  CALL(MPI_File_write_at_all_end, (file, out + 2, &status), wrote(n * I));
  settle();
  CALL(MPI_File_read_at_all_begin, (file, theirs, in, n, MPI_INT));
  CALL(MPI_File_read_at_all_end, (file, in, MPI_STATUS_IGNORE), read_bytes(n * I));
  show("read_at_all_begin", in, n * I);
  all_read();
  CALL(MPI_File_iwrite_at, (file, mine, out + 3, n, MPI_INT, &request), path = last);
  CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE), write_completed(path, n * I));
  settle();
  CALL(MPI_File_iread_at, (file, theirs, in, n, MPI_INT, &request), path = last);
  CALL(MPI_Wait, (&request, &status), read_completed(path, n * I));
  show_file("iread_at");
  show("iread_at", in, n * I);
  all_read();
  CALL(MPI_File_iwrite_at_all, (file, mine, out + 4, n, MPI_INT, &request), path = last);
  CALL(MPI_Wait, (&request, &status), write_completed(path, n * I));
  settle();
  CALL(MPI_File_iread_at_all, (file, theirs, in, n, MPI_INT, &request), path = last);
  CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE), read_completed(path, n * I));
  show("iread_at_all", in, n * I);
  /* Beyond the end there is nothing; over the end, half of it. */
  CALL(MPI_File_read_at, (file, (MPI_Offset)size * n * I, in, n, MPI_INT, &status));
  show_file("beyond the end");
  CALL(MPI_File_read_at, (file, ((MPI_Offset)size * n - 1) * I, in, n, MPI_INT, &status), read_bytes(n ? I : 0));
  show_file("over the end");
  close_file();
}

/* By the individual pointers, each in its own part. */
PATH static void individual(count_t n) {
  FUNCTION;
  open_file();
  const MPI_Offset mine = rank * n * I;
  MPI_Offset position;
  CALL(MPI_File_seek, (file, mine, MPI_SEEK_SET));
  CALL(MPI_File_write, (file, out, n, MPI_INT, &status), wrote(n * I));
  CALL(MPI_File_get_position, (file, &position));
  say("position %lld", (long long)position);
  CALL(MPI_File_seek, (file, -n * I, MPI_SEEK_CUR));
  CALL(MPI_File_read, (file, in, n, MPI_INT, &status), read_bytes(n * I));
  show("read", in, n * I);
  CALL(MPI_File_seek, (file, mine, MPI_SEEK_SET));
  CALL(MPI_File_write_all, (file, out + 1, n, MPI_INT, &status), wrote(n * I));
  settle();
  CALL(MPI_File_seek, (file, mine, MPI_SEEK_SET));
  CALL(MPI_File_read_all, (file, in, n, MPI_INT, MPI_STATUS_IGNORE), read_bytes(n * I));
  show("read_all", in, n * I);
  CALL(MPI_File_seek, (file, mine, MPI_SEEK_SET));
  CALL(MPI_File_write_all_begin, (file, out + 2, n, MPI_INT));
  CALL(MPI_File_write_all_end, (file, out + 2, MPI_STATUS_IGNORE), wrote(n * I));
  settle();
  CALL(MPI_File_seek, (file, mine, MPI_SEEK_SET));
  CALL(MPI_File_read_all_begin, (file, in, n, MPI_INT));
  CALL(MPI_File_read_all_end, (file, in, &status), read_bytes(n * I));
  show("read_all_begin", in, n * I);
  CALL(MPI_File_seek, (file, mine, MPI_SEEK_SET));
  CALL(MPI_File_iwrite, (file, out + 3, n, MPI_INT, &request), path = last);
  CALL(MPI_Wait, (&request, &status), write_completed(path, n * I));
  settle();
  CALL(MPI_File_seek, (file, mine, MPI_SEEK_SET));
  CALL(MPI_File_iread, (file, in, n, MPI_INT, &request), path = last);
  CALL(MPI_Wait, (&request, &status), read_completed(path, n * I));
  show("iread", in, n * I);
  CALL(MPI_File_seek, (file, mine, MPI_SEEK_SET));
  CALL(MPI_File_iwrite_all, (file, out + 4, n, MPI_INT, &request), path = last);
  CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE), write_completed(path, n * I));
  settle();
  CALL(MPI_File_seek, (file, mine, MPI_SEEK_SET));
  CALL(MPI_File_iread_all, (file, in, n, MPI_INT, &request), path = last);
  CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE), read_completed(path, n * I));
  show("iread_all", in, n * I);
  close_file();
}

/* By the shared pointer: who comes first writes first, so every rank writes the same. */
PATH static void shared(count_t n) {
  FUNCTION;
  open_file();
  MPI_Offset position;
  for (int i = 0; i < n; ++i) out[i] = i % 10;
  CALL(MPI_File_write_shared, (file, out, n, MPI_INT, &status), wrote(n * I));
  CALL(MPI_File_iwrite_shared, (file, out, n, MPI_INT, &request), path = last);
  CALL(MPI_Wait, (&request, MPI_STATUS_IGNORE), write_completed(path, n * I));
  settle();
  CALL(MPI_File_get_position_shared, (file, &position));
  HOLDS(position == 2 * size * n * I);
  CALL(MPI_Barrier, (world));
  CALL(MPI_File_seek_shared, (file, 0, MPI_SEEK_SET));
  CALL(MPI_File_read_shared, (file, in, n, MPI_INT, MPI_STATUS_IGNORE), read_bytes(n * I));
  show("read_shared", in, n * I);
  CALL(MPI_File_iread_shared, (file, in, n, MPI_INT, &request), path = last);
  CALL(MPI_Wait, (&request, &status), read_completed(path, n * I));
  show("iread_shared", in, n * I);
  fill();
  close_file();
}

/* In the order of ranks; rank r has n + r integers. */
PATH static void ordered(count_t n) {
  FUNCTION;
  open_file();
  const count_t mine = n + rank;
  CALL(MPI_File_write_ordered, (file, out, mine, MPI_INT, &status), wrote(mine * I));
  CALL(MPI_File_write_ordered_begin, (file, out + 1, mine, MPI_INT));
  CALL(MPI_File_write_ordered_end, (file, out + 1, MPI_STATUS_IGNORE), wrote(mine * I));
  settle();
  CALL(MPI_File_seek_shared, (file, 0, MPI_SEEK_SET));
  clear();
  CALL(MPI_File_read_ordered, (file, in, mine, MPI_INT, MPI_STATUS_IGNORE), read_bytes(mine * I));
  show("read_ordered", in, mine * I);
  CALL(MPI_File_read_ordered_begin, (file, in, mine, MPI_INT));
  CALL(MPI_File_read_ordered_end, (file, in, &status), read_bytes(mine * I));
  show_file("read_ordered_begin");
  show("read_ordered_begin", in, mine * I);
  close_file();
}

/* Every rank sees its own column of blocks of three; memory has gaps, too. */
PATH static void views(count_t n) {
  FUNCTION;
  MPI_Datatype blocks, spread, etype, filetype;
  MPI_Offset offset;
  char representation[MPI_MAX_DATAREP_STRING];
  address_t extent;
  open_file();
  CALL(MPI_Type_vector, (1, 3, 3, MPI_INT, &blocks));
  MPI_Datatype column;
  CALL(MPI_Type_create_resized, (blocks, 0, size * 3 * I, &column));
  CALL(MPI_Type_commit, (&column));
  CALL(MPI_Type_vector, (3, 1, 2, MPI_INT, &spread)); /* three of five integers */
  CALL(MPI_Type_commit, (&spread));
  CALL(MPI_File_set_view, (file, rank * 3 * I, MPI_INT, column, "native", MPI_INFO_NULL));
  CALL(MPI_File_write_all, (file, out, n, spread, &status), wrote(n * 3 * I));
  show_file("write_all");
  settle();
  CALL(MPI_File_get_byte_offset, (file, 4, &offset));
  say("offset %lld", (long long)offset);
  CALL(MPI_File_get_view, (file, &offset, &etype, &filetype, representation));
  say("view at %lld, %s", (long long)offset, representation);
  CALL(MPI_File_get_type_extent, (file, spread, &extent));
  say("extent %lld", (long long)extent);
  clear();
  CALL(MPI_File_read_at_all, (file, 0, in, 3 * n, MPI_INT, &status), read_bytes(3 * n * I));
  show("read", in, 3 * n * I);
  CALL(MPI_File_set_view, (file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  clear();
  CALL(MPI_File_read_at, (file, 0, in, 12 * size, MPI_BYTE, &status), read_bytes(12 * size));
  show("bytes", in, 12 * size);
  CALL(MPI_Type_free, (&blocks));
  CALL(MPI_Type_free, (&column));
  CALL(MPI_Type_free, (&spread));
  close_file();
}

PATH static void properties(void) {
  FUNCTION;
  int mode, flag, members;
  MPI_Group group;
  MPI_Info info;
  MPI_Offset bytes;
  open_file();
  CALL(MPI_File_preallocate, (file, 5000));
  CALL(MPI_File_get_size, (file, &bytes));
  CALL(MPI_File_get_amode, (file, &mode));
  CALL(MPI_File_set_atomicity, (file, 1));
  CALL(MPI_File_get_atomicity, (file, &flag));
  CALL(MPI_File_get_group, (file, &group));
  CALL(MPI_Group_size, (group, &members));
  CALL(MPI_Group_free, (&group));
  CALL(MPI_File_get_info, (file, &info));
  CALL(MPI_File_set_info, (file, info));
  CALL(MPI_Info_free, (&info));
  say("%lld bytes, mode %d, atomic %d, %d members", (long long)bytes, mode, flag, members);
  close_file();
  CALL(MPI_Barrier, (world));
  if (rank == 0) CALL(MPI_File_delete, (name, MPI_INFO_NULL));
}

/* A representation of the program's own, which is never used. MPI may refuse it, or the second time. */
static int extent_of(MPI_Datatype type, MPI_Aint* extent, void* extra) {
  (void)type, (void)extent, (void)extra;
  return MPI_ERR_OTHER;
}
PATH static void representation(void) {
  FUNCTION;
  int result =
      RESULT(MPI_Register_datarep, ((char*)"own", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, NULL));
  show_error("MPI_Register_datarep", result);
#if MPI_VERSION >= 4
  result = RESULT(MPI_Register_datarep_c,
                  ((char*)"own large", MPI_CONVERSION_FN_NULL_C, MPI_CONVERSION_FN_NULL_C, extent_of, NULL));
  show_error("MPI_Register_datarep_c", result);
#endif
}

PATH static void few(void) {
  FUNCTION;
  at_offsets(5);
  individual(6);
  shared(7);
  ordered(8);
  views(2);
}
PATH static void many(void) {
  FUNCTION;
  at_offsets(2000);
  individual(3001);
  shared(100);
  ordered(1000);
  views(400);
}

MAIN({
  snprintf(name, sizeof name, "%s/file", getenv("SCRATCH") ? getenv("SCRATCH") : ".");
  few();
  many();
  properties();
  representation();
})

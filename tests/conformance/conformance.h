#pragma once
/* What the conformance programs share: the truth of every call, written beside it, and output in a fixed form.
 *
 *   PATH static void few(void) {
 *     FUNCTION;                                                              a function is part of the call path
 *     CALL(MPI_Irecv, (in, 9, MPI_INT, left, 1, world, &request), posted = last);
 *     CALL(MPI_Send, (out, 3, MPI_INT, right, 1, world), sent(1, 3 * I));    what this call moves
 *     CALL(MPI_Wait, (&request, &status), arrived(posted, 3 * I));           and for which call that posted it
 *     show("received", in, 3 * I);
 *   }
 *
 * The truth is kept for every call path, the functions from main on and the MPI function, and written to
 * TRUTH_FILE.<rank> when that variable is set. A function without FUNCTION has to be inlined. Calls of PMPI_ names are
 * no part of the truth: helpers here use them. CONFORMANCE_TRACE=1 shows every call when it has returned.
 *
 * With LARGE_COUNTS every function that has a form with large counts (MPI_Send_c) is called by that form; the types
 * below are then those of its parameters. large_counts.h has one macro for each, made from functions.table.
 */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LARGE_COUNTS
#include "large_counts.h"
typedef MPI_Count count_t;       /* counts */
typedef MPI_Aint displacement_t; /* displacements of the v-variants, in items, and of the w-variants, in bytes */
typedef MPI_Aint neighbor_displacement_t;
typedef MPI_Count items_t;    /* displacements of datatypes, in items */
typedef MPI_Count address_t;  /* displacements and extents of datatypes, in bytes */
typedef MPI_Count pack_t;     /* sizes and positions of packed data */
typedef MPI_Count external_t; /* likewise, of external data */
typedef MPI_Aint unit_t;      /* displacement units of windows */
#else
typedef int count_t;
typedef int displacement_t;
typedef MPI_Aint neighbor_displacement_t;
typedef int items_t;
typedef MPI_Aint address_t;
typedef int pack_t;
typedef MPI_Aint external_t;
typedef int unit_t;
#endif

#define PATH __attribute__((noinline, noclone))
#define INLINE static inline __attribute__((always_inline, unused))
#define HELPER static __attribute__((noinline, noclone, unused))

enum { I = sizeof(int), D = sizeof(double), max_ranks = 16 };

static MPI_Comm world;
static int rank, size, left, right; /* in the world; neighbours in a ring */
enum { room = 1 << 16 };
static int out[room], in[room];

/* ---- Truth ---- */

enum {
  VISITS,
  MESSAGES_SENT,
  BYTES_SENT,
  MESSAGES_RECEIVED,
  BYTES_RECEIVED,
  MESSAGES_COMPLETED,
  BYTES_COMPLETED,
  BYTES_READ,
  BYTES_WRITTEN,
  COLUMNS
};

typedef struct Path {
  const char* name;
  struct Path *parent, *child, *next;
  long long n[COLUMNS];
} Path;

static Path truth = {.name = "main"};
static Path* here = &truth; /* the function that runs */
static Path* last;          /* the call path of the last CALL */

HELPER Path* child_of(Path* parent, const char* name) {
  Path** link = &parent->child;
  while (*link && strcmp((*link)->name, name)) link = &(*link)->next;
  if (!*link) {
    *link = calloc(1, sizeof **link);
    (*link)->name = name;
    (*link)->parent = parent;
  }
  return *link;
}

INLINE Path* enter_function(const char* name) {
  Path* before = here;
  here = child_of(here, name);
  return before;
}
INLINE void leave_function(Path** before) { here = *before; }
#define FUNCTION Path* path_before_ __attribute__((cleanup(leave_function), unused)) = enter_function(__func__)

HELPER void check(const char* name, int result) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  PMPI_Error_string(result, text, &length);
  fprintf(stderr, "%s in %s returned %d: %s\n", name, here->name, result, text);
  PMPI_Abort(MPI_COMM_WORLD, 9);
}

HELPER void visited(const char* name) {
  last = child_of(here, name);
  ++last->n[VISITS];
  static int shown = -1;
  if (shown < 0) shown = getenv("CONFORMANCE_TRACE") != NULL;
  if (shown) fprintf(stderr, "%d: %s: %s\n", rank, here->name, name);
}
INLINE void add(Path* path, int messages_column, long long messages, long long bytes) {
  path->n[messages_column] += messages;
  path->n[messages_column + 1] += bytes;
}
INLINE void sent(long long messages, long long bytes) { add(last, MESSAGES_SENT, messages, bytes); }
INLINE void received(long long messages, long long bytes) { add(last, MESSAGES_RECEIVED, messages, bytes); }
INLINE void read_bytes(long long bytes) { last->n[BYTES_READ] += bytes; }
INLINE void wrote(long long bytes) { last->n[BYTES_WRITTEN] += bytes; }
/* The last call completed something that was posted at another: a message, or a part of a file. */
INLINE void arrived(Path* posted, long long bytes) {
  add(posted, MESSAGES_RECEIVED, 1, bytes);
  add(last, MESSAGES_COMPLETED, 1, bytes);
}
INLINE void read_completed(Path* posted, long long bytes) {
  posted->n[BYTES_READ] += bytes;
  last->n[BYTES_COMPLETED] += bytes;
}
INLINE void write_completed(Path* posted, long long bytes) {
  posted->n[BYTES_WRITTEN] += bytes;
  last->n[BYTES_COMPLETED] += bytes;
}

/* A call that succeeds, and then what it did. */
#define CALL(function, arguments, ...) CALL_(function, arguments __VA_OPT__(, ) __VA_ARGS__)
#define CALL_(function, arguments, ...) \
  (check(#function, function arguments), visited(#function) __VA_OPT__(, ) __VA_ARGS__)
/* A call that may fail: its result. */
#define RESULT(function, arguments) RESULT_(function, arguments)
#define RESULT_(function, arguments) (path_result_ = function arguments, visited(#function), path_result_)
static int path_result_ __attribute__((unused));

/* ---- Collective operations: the blocking, the non-blocking and the persistent form, which move the same ---- */

#define FORMS(name, non_blocking, arguments, ...)                         \
  do {                                                                    \
    MPI_Request request_;                                                 \
    CALL(MPI_##name, arguments, __VA_ARGS__);                             \
    CALL(MPI_##non_blocking, (WITHIN arguments, &request_), __VA_ARGS__); \
    CALL(MPI_Wait, (&request_, MPI_STATUS_IGNORE));                       \
    PERSISTENT(name, arguments, __VA_ARGS__);                             \
  } while (0)
#define WITHIN(...) __VA_ARGS__

#ifdef OPEN_MPI /* 4.1 has them as an extension */
#define PREPARE(name, arguments) CALL(MPIX_##name##_init, arguments)
#else
#define PREPARE(name, arguments) CALL(MPI_##name##_init, arguments)
#endif
#if MPI_VERSION >= 4 || defined(OPEN_MPI)
#define PERSISTENT(name, arguments, ...)                       \
  PREPARE(name, (WITHIN arguments, MPI_INFO_NULL, &request_)); \
  for (int start_ = 0; start_ < starts(#name); ++start_) {     \
    CALL(MPI_Start, (&request_), __VA_ARGS__);                 \
    CALL(MPI_Wait, (&request_, MPI_STATUS_IGNORE));            \
  }                                                            \
  CALL(MPI_Request_free, (&request_))
INLINE int starts(const char* name) {
#ifdef MPICH_VERSION /* 4.0 can start this one only once */
  if (!strcmp(name, "Scatter")) return 1;
#endif
  (void)name;
  return 2;
}
#else
#define PERSISTENT(name, arguments, ...) (void)0
#endif

/* ---- Output ---- */

static char* output;
static size_t output_length, output_room;

/* Adds a line to the output of this rank. */
__attribute__((format(printf, 1, 2))) HELPER void say(const char* format, ...) {
  if (output_room < output_length + 4096) output = realloc(output, output_room = 2 * output_room + 8192);
  output_length += (size_t)sprintf(output + output_length, "%s: ", here->name);
  va_list list;
  va_start(list, format);
  output_length += (size_t)vsnprintf(output + output_length, 2048, format, list);
  va_end(list);
  output[output_length++] = '\n';
}
HELPER uint64_t digest(const void* data, size_t bytes) {
  uint64_t hash = 1469598103934665603u;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ ((const unsigned char*)data)[i]) * 1099511628211u;
  return hash;
}
HELPER void show(const char* what, const void* data, size_t bytes) {
  say("%s: %zu bytes, %016llx", what, bytes, (unsigned long long)digest(data, bytes));
}
HELPER void show_status(const char* what, const MPI_Status* status) {
  MPI_Count bytes = -1;
  int cancelled = -1;
  PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
  PMPI_Test_cancelled(status, &cancelled);
  if (cancelled) { /* the rest means nothing */
    say("%s: cancelled", what);
  } else {
    say("%s: source %d, tag %d, %lld bytes", what, status->MPI_SOURCE, status->MPI_TAG, (long long)bytes);
  }
}
/* The result of a call that is to fail, as the program sees it. */
HELPER int show_error(const char* what, int result) {
  int class = -1, length = 0;
  char text[MPI_MAX_ERROR_STRING] = "";
  PMPI_Error_class(result, &class);
  PMPI_Error_string(class, text, &length);
  say("%s: code of class %d, %s", what, class, text);
  return class;
}
/* Whether something that must hold does. */
#define HOLDS(condition) ((condition) ? (void)0 : fails(#condition, __LINE__))
HELPER void fails(const char* condition, int line) {
  fprintf(stderr, "line %d: %s does not hold\n", line, condition);
  PMPI_Abort(MPI_COMM_WORLD, 8);
}

/* ---- Begin and end ---- */

INLINE void fill(void) {
  for (int i = 0; i < room; ++i) out[i] = rank * 1000003 + i;
  memset(in, 0, sizeof in);
}

/* After MPI_Init. */
HELPER void begin(void) {
  world = MPI_COMM_WORLD;
  PMPI_Comm_rank(world, &rank);
  PMPI_Comm_size(world, &size);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  fill();
}

/* Before MPI_Finalize: rank 0 prints the output of all ranks. */
HELPER void print(void) {
  enum { tag = 32001 };
  int bytes = (int)output_length;
  if (rank) {
    PMPI_Send(output, bytes, MPI_CHAR, 0, tag, world);
    return;
  }
  for (int other = 0; other < size; ++other) {
    char* text = output;
    MPI_Status status;
    if (other) {
      PMPI_Probe(other, tag, world, &status);
      PMPI_Get_count(&status, MPI_CHAR, &bytes);
      text = malloc((size_t)bytes + 1);
      PMPI_Recv(text, bytes, MPI_CHAR, other, tag, world, MPI_STATUS_IGNORE);
    }
    printf("-- rank %d\n%.*s", other, bytes, bytes ? text : "");
    if (other) free(text);
  }
  fflush(stdout);
}

HELPER void write_path(FILE* file, const Path* path, char* prefix, size_t length) {
  const size_t longer = length + (size_t)sprintf(prefix + length, length ? "/%s" : "%s", path->name);
  long long any = 0;
  for (int i = 0; i < COLUMNS; ++i) any |= path->n[i];
  if (any) {
    fprintf(file, "%s", prefix);
    for (int i = 0; i < COLUMNS; ++i) fprintf(file, " %lld", path->n[i]);
    fprintf(file, "\n");
  }
  for (const Path* child = path->child; child; child = child->next) write_path(file, child, prefix, longer);
  prefix[length] = 0;
}

/* After MPI_Finalize: the exit status. */
HELPER int end(void) {
  const char* name = getenv("TRUTH_FILE");
  if (!name || !*name) return 0;
  char text[4096];
  snprintf(text, sizeof text, "%s.%d", name, rank);
  FILE* file = fopen(text, "w");
  if (!file) return 7;
  text[0] = 0;
  write_path(file, &truth, text, 0);
  return fclose(file) ? 7 : 0;
}

#define MAIN(body)                  \
  int main(int argc, char** argv) { \
    CALL(MPI_Init, (&argc, &argv)); \
    begin();                        \
    body;                           \
    print();                        \
    CALL(MPI_Finalize, ());         \
    return end();                   \
  }

#pragma once
/* Many call paths for programs that make MPI calls from all of them. */

static volatile int keep_frame;

/* Defines walk(path, levels): it executes the statements after the name on one of 2^levels call paths. Each level
   descends through one of two call sites, selected by a bit of `path`. */
#define CALL_PATHS(walk, ...)                                             \
  static __attribute__((noinline)) void walk(unsigned path, int levels) { \
    if (levels == 0) {                                                    \
      __VA_ARGS__;                                                        \
    } else if (path & 1) {                                                \
      walk(path >> 1, levels - 1);                                        \
      keep_frame = 1;                                                     \
    } else {                                                              \
      walk(path >> 1, levels - 1);                                        \
      keep_frame = 2;                                                     \
    }                                                                     \
  }

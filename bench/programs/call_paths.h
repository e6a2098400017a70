#pragma once
/* Gives a program many call paths, from all of which it makes MPI calls. */

static volatile int keep_frame;

/* Defines the function walk(path, levels), which executes the given statements on one of 2^levels call paths. Each
   level calls the next one from one of two call sites, which a bit of `path` selects. */
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

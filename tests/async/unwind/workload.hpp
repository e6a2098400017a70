#pragma once
/// A program in small that does to its stack all that programs do. workload.cpp is compiled once per set of
/// compiler options, each into a namespace of its own.

namespace unwind_workload {

/// Called from inside the workload: a capture at a call in progress.
using CapturePoint = void (*)();

/// Runs everything once; `seed` varies sizes, depths and order.
#define UNWIND_WORKLOAD_VARIANT(name)            \
  namespace name {                               \
  void run(unsigned seed, CapturePoint capture); \
  }
#include "workload_variants.def"
#undef UNWIND_WORKLOAD_VARIANT

/// Turns stepping on in a signal handler of the workload (a handler begins without it); the harness defines it.
void step_in_handler();

}  // namespace unwind_workload

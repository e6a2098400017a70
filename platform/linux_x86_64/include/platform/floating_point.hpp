#pragma once
/// The floating-point environment: which exceptions trap, how results are rounded, whether denormal numbers are flushed
/// to zero, and which exceptions have happened. It belongs to the program; Refrain computes in an environment of its
/// own. All arithmetic of the runtime is SSE's (-mno-80387), so the environment is one register, MXCSR.
///
/// A signal handler needs nothing: the kernel gives it a clean environment and restores the interrupted one.
/// Source: Intel SDM, volume 1, 10.2.3.

namespace refrain::platform {

/// Nothing traps, rounding to nearest, denormal numbers, no exception has happened. Async-signal-safe.
inline void begin_own_floating_point() {
  const unsigned initial = 0x1f80;
  asm volatile("ldmxcsr %0" : : "m"(initial) : "memory");
}

/// Gives the calling thread an environment of Refrain's own for the lifetime of the object, and the program's back.
/// About 12 ns, so it stands where Refrain computes and not in each MPI call. It may be nested. The compiler does not
/// know that arithmetic depends on the environment, but it moves no load across the asm: operands have to come from
/// memory, or the arithmetic from a function that is not inlined. tests/issues/floating_point.py looks at the code.
/// Async-signal-safe.
class OwnFloatingPoint {
 public:
  OwnFloatingPoint() {
    asm volatile("stmxcsr %0" : "=m"(of_program_) : : "memory");
    begin_own_floating_point();
  }
  ~OwnFloatingPoint() { asm volatile("ldmxcsr %0" : : "m"(of_program_) : "memory"); }
  OwnFloatingPoint(const OwnFloatingPoint&) = delete;

 private:
  unsigned of_program_;
};

}  // namespace refrain::platform

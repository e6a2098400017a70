#pragma once
/// The floating-point environment: which exceptions trap, how results are rounded, whether denormal numbers are flushed
/// to zero, and which exceptions have happened. It belongs to the program; Refrain computes in an environment of its
/// own. All arithmetic of the runtime uses SSE (-mno-80387), so the environment is one register, MXCSR.
///
/// A signal handler needs nothing: the kernel gives it a clean environment and restores the interrupted one.
/// Source: Intel SDM, volume 1, 10.2.3.

namespace refrain::platform {

/// Nothing traps, rounding is to nearest, denormal numbers are kept, no exception has happened. Async-signal-safe.
inline void begin_own_floating_point() {
  const unsigned initial = 0x1f80;
  asm volatile("ldmxcsr %0" : : "m"(initial) : "memory");
}

/// Gives the calling thread an environment of Refrain's own for the lifetime of the object, and then restores the
/// program's. Costs about 12 ns, so it is used where Refrain computes and not in each MPI call. It may be nested. The
/// compiler does not know that arithmetic depends on the environment, but it moves no load across the asm: operands
/// must come from memory, or the arithmetic must be in a function that is not inlined. tests/issues/floating_point.py
/// checks the machine code.
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

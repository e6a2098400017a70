#pragma once
/// A system call without the C library, and the name of the kernel's own clock function. For C and C++.

/// Name of the clock's function in the kernel's shared object.
#define REFRAIN_VDSO_CLOCK "__vdso_clock_gettime"

/// Returns the kernel's result: -4095 ... -1 are errno values. Async-signal-safe.
static inline long refrain_system_call(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

#pragma once
#include <cpuid.h>
#include <cstdint>

namespace refrain::platform {

/// The time-stamp counter. Async-signal-safe.
inline std::uint64_t read_counter() {
  // Not __rdtsc(): its header, with all instructions of the processor, takes longer to parse than most of our files.
  return __builtin_ia32_rdtsc();
}

/// Whether the counter has a constant rate and never stops. Source: Intel SDM, volume 3, 18.17.1; AMD64 APM, volume 3,
/// function 8000_0007h: EDX[8]. Async-signal-safe.
inline bool counter_is_invariant() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
}

}  // namespace refrain::platform

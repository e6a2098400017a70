#pragma once
#include <cstdint>

namespace refrain::platform {

/// The time-stamp counter. Async-signal-safe.
inline std::uint64_t read_counter() {
  // Not __rdtsc(): its header, with all instructions of the processor, takes longer to parse than most of our files.
  return __builtin_ia32_rdtsc();
}

}  // namespace refrain::platform

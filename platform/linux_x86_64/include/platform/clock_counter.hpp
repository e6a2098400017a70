#pragma once
#include <cstdint>
#include <x86intrin.h>

namespace refrain::platform {

/// The time-stamp counter. Async-signal-safe.
inline std::uint64_t read_counter() { return __rdtsc(); }

}  // namespace refrain::platform

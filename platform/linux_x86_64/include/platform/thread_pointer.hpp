#pragma once
#include <cstdint>

namespace refrain::platform {

/// Whether thread_pointer() may be called: the processor has the instruction and the kernel allows it (Linux 5.9).
bool has_thread_pointer();

/// Tells the calling thread from all other living threads. Comes from a register, without reading memory.
/// Async-signal-safe.
inline std::uintptr_t thread_pointer() {
  std::uintptr_t pointer;
  asm volatile("rdfsbase %0" : "=r"(pointer));
  return pointer;
}

}  // namespace refrain::platform

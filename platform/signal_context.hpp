#pragma once
/// Registers of an interrupted thread, from the context that the kernel passes to a signal handler.

#include <cstdint>

namespace refrain::platform {

/// The registers that the incremental unwinder needs of a frame: 3 words.
struct Registers {
  std::uintptr_t pc;
  std::uintptr_t sp;
  std::uintptr_t fp;  ///< frame-pointer register (rbp on x86-64, x29 on aarch64)
};

/// `context` is the third argument of an SA_SIGINFO handler. Async-signal-safe.
Registers interrupted_registers(const void* context);

}  // namespace refrain::platform

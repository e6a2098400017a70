#pragma once
/// The registers of the caller of the function that this is inlined into. The function must have an ordinary frame:
/// __builtin_frame_address makes the compiler keep a frame pointer in it. Async-signal-safe.

#include "unwind/walker.hpp"

namespace refrain::unwind {

[[gnu::always_inline]] inline Registers calling_registers() {
  const auto* frame = static_cast<const std::uintptr_t*>(__builtin_frame_address(0));
  return {frame[1], reinterpret_cast<std::uintptr_t>(frame + 2), frame[0]};
}
[[gnu::always_inline]] inline Start calling_frame() { return {calling_registers(), false, nullptr}; }

}  // namespace refrain::unwind

#pragma once
/// The second backend: libunwind's step-by-step interface. It is an oracle for tests and a fallback: it is slow, takes
/// locks at every step and may call dl_iterate_phdr, see docs/async-safety.md.

#include <cstddef>
#include <cstdint>

#include "unwind/walker.hpp"

namespace refrain::unwind {

/// Room for the library's own cursor (127 words in 1.6) and for a machine context.
struct LibunwindCursor {
  alignas(16) std::uintptr_t words[512];
  alignas(16) std::byte context[1024];
};

/// The four entries of libunwind that are used. Names and numbers are those of its interface for x86-64
/// (unw_init_local2, unw_step, unw_get_reg, unw_is_signal_frame).
struct LibunwindLibrary {
  int (*init_local2)(void* cursor, void* context, int flag);
  int (*step)(void* cursor);
  int (*get_register)(void* cursor, int number, unsigned long* value);
  int (*is_signal_frame)(void* cursor);
};
inline LibunwindLibrary libunwind{};

/// Loads libunwind.so.8 without making its symbols visible to the program. Ordinary context only. False when absent.
bool load_libunwind();
/// Walks the stack of the calling thread once, so that the library makes its first-use allocations now and not in a
/// handler.
bool warm_up_libunwind(Walker& walker);

/// Fills `frames`, outermost first, with at most `max_depth` frames; returns their number.
std::uint32_t walk_with_libunwind(const Start& start, LibunwindCursor& cursor, Frame* frames, std::uint32_t max_depth,
                                  WalkEnd& end);

}  // namespace refrain::unwind

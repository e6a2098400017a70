#include "unwind/libunwind_backend.hpp"

#include <algorithm>
#include <cstring>

#include "unwind/x86_64/machine.hpp"

namespace refrain::unwind {

namespace {

// UNW_X86_64_* of libunwind's interface.
constexpr int register_rbp = 6, register_rsp = 7, register_rip = 16;
constexpr int context_is_of_signal = 1;  // UNW_INIT_SIGNAL_FRAME: the pc is an instruction to be executed
static_assert(sizeof(ucontext_t) <= sizeof LibunwindCursor::context);

bool read_frame(LibunwindCursor& cursor, Frame& frame) {
  unsigned long pc, sp, fp = 0;
  if (libunwind.get_register(cursor.words, register_rip, &pc) < 0) return false;
  if (libunwind.get_register(cursor.words, register_rsp, &sp) < 0) return false;
  libunwind.get_register(cursor.words, register_rbp, &fp);
  frame = Frame{pc, sp, fp, 0, 0, 0, 0, false, false};
  return true;
}

}  // namespace

std::uint32_t walk_with_libunwind(const Start& start, LibunwindCursor& cursor, Frame* frames, std::uint32_t max_depth,
                                  WalkEnd& end) {
  if (start.context) {
    std::memcpy(cursor.context, start.context, sizeof(ucontext_t));
  } else {
    // Begins here, and steps outwards to the frame where the walk is to begin.
    std::uintptr_t registers[machine::register_count];
    machine::capture_registers(registers);
    std::memset(cursor.context, 0, sizeof(ucontext_t));
    for (unsigned r = 0; r < machine::register_count; ++r)
      std::memcpy(cursor.context + machine::offset_in_context(r), &registers[r], sizeof registers[r]);
  }
  end = WalkEnd::NoTables;
  if (libunwind.init_local2(cursor.words, cursor.context, context_is_of_signal) < 0) return 0;
  std::uint32_t depth = 0;
  bool exact = start.exact, begun = start.context != nullptr;
  for (int more = 1;;) {
    Frame frame;
    if (!read_frame(cursor, frame)) break;
    if (!begun && frame.sp == start.registers.sp) begun = true;
    if (begun) {
      if (frame.pc == 0) {
        end = WalkEnd::Complete;
        break;
      }
      if (depth == max_depth) {
        end = WalkEnd::DepthLimit;
        break;
      }
      frame.exact = exact;
      frames[depth++] = frame;
    } else if (frame.sp > start.registers.sp) {
      break;
    }
    exact = libunwind.is_signal_frame(cursor.words) > 0;
    more = libunwind.step(cursor.words);
    if (more <= 0) {
      if (more == 0 && depth > 0) end = WalkEnd::Complete;
      break;
    }
  }
  std::reverse(frames, frames + depth);
  return depth;
}

}  // namespace refrain::unwind

#include <algorithm>
#include <sys/resource.h>

#include "platform/pages.hpp"
#include "unwind/walker_state.hpp"

namespace refrain::unwind {
namespace {

/// The main thread's bounds have no low end, but what lies far below is not its stack: a fiber's stack in the heap must
/// not be taken for it. The kernel keeps at least 128 MiB, and what RLIMIT_STACK said at exec, free of mappings below
/// the stack (arch/x86/mm/mmap.c, mmap_base); without a limit mappings begin at a third of the address space.
StackBounds bounded(const StackBounds& stack) {
  StackBounds result{stack.low, stack.high & ~std::uintptr_t{7}};
  if (stack.low != 1) return result;
  constexpr rlim_t least = rlim_t{120} << 20, most = rlim_t{1} << 40;
  rlimit limit{least, least};
  getrlimit(RLIMIT_STACK, &limit);
  const rlim_t size = std::clamp(limit.rlim_cur, least, most);
  result.low = result.high > size ? result.high - size : 4096;
  return result;
}

/// Hands out parts of one mapping, cache line by cache line.
struct Parts {
  char* base;
  std::size_t used = 0;

  template <class T>
  T* take(std::size_t count) {
    T* part = base ? reinterpret_cast<T*>(base + used) : nullptr;
    used += (sizeof(T) * count + 63) & ~std::size_t{63};
    return part;
  }
};

}  // namespace

struct WalkerSetup {
  static std::size_t lay_out(char* base, std::uint32_t max_depth) {
    Parts parts{base};
    auto* state = parts.take<Walker::State>(1);
    auto* frames = parts.take<Frame>(max_depth);
    auto* words = parts.take<ReadWord>(words_per_frame * max_depth);
    auto* pairs = parts.take<ReadPair>(max_depth);
    auto* stepped = parts.take<Stepped>(std::size_t{max_depth} + 1);
    auto* full_frames = parts.take<Frame>(max_depth);
    auto* cursor = parts.take<LibunwindCursor>(1);
    if (base) {
      state->frames = frames;
      state->words = words;
      state->pairs = pairs;
      state->stepped = stepped;
      state->full_frames = full_frames;
      state->cursor = cursor;
      state->max_depth = max_depth;
      state->mapped = parts.used;
    }
    return parts.used;
  }
};

bool Walker::create(const StackBounds& stack, std::uint32_t max_depth, Backend backend) {
  destroy();
  max_depth = std::max<std::uint32_t>(max_depth, 1);
  auto* base = static_cast<char*>(platform::map_pages(WalkerSetup::lay_out(nullptr, max_depth)));
  if (!base) return false;
  WalkerSetup::lay_out(base, max_depth);
  state_ = reinterpret_cast<State*>(base);
  state_->backend = backend;
  reset(stack);
  if (backend == Backend::Libunwind && !(load_libunwind() && warm_up_libunwind(*this))) {
    destroy();
    return false;
  }
  return true;
}

void Walker::destroy() {
  if (state_) platform::unmap_pages(state_, state_->mapped);
  state_ = nullptr;
}

void Walker::reset(const StackBounds& stack) {
  state_->stack = bounded(stack);
  forget();
}

}  // namespace refrain::unwind

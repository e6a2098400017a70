#include <algorithm>
#include <sys/resource.h>

#include "platform/pages.hpp"
#include "unwind/walker_state.hpp"

namespace refrain::unwind {
namespace {

/// The lower bound of the main thread's stack is not known, but memory far below is not its stack: a fiber's stack in
/// the heap must not be taken for it. The kernel keeps at least 128 MiB, or RLIMIT_STACK at exec if that is more, free
/// of mappings below the stack (arch/x86/mm/mmap.c, mmap_base); without a limit mappings begin at a third of the
/// address space.
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

constexpr std::size_t line = 64, page = 4096;
/// Bytes of words that are in the owner's page.
constexpr std::size_t words_beside_owner = 384;

std::size_t up_to(std::size_t unit, std::size_t bytes) { return (bytes + unit - 1) / unit * unit; }

/// Hands out parts of one mapping, aligned to cache lines.
struct Parts {
  char* base;
  std::size_t used;

  template <class T>
  T* take(std::size_t count) {
    T* part = base ? reinterpret_cast<T*>(base + used) : nullptr;
    used += up_to(line, sizeof(T) * count);
    return part;
  }
};

}  // namespace

struct WalkerSetup {
  /// Offset of the owner in the memory.
  static std::size_t bytes_before_owner(const WalkerMemory& memory) {
    const std::size_t words = sizeof(ReadWord) * words_per_frame * memory.max_depth;
    return words_beside_owner + (words <= words_beside_owner ? 0 : up_to(page, words - words_beside_owner));
  }

  /// The layout of the memory: its size and, if it is mapped, the walker's state in it.
  struct Layout {
    Walker::State* state;
    std::size_t bytes;
  };
  static Layout lay_out(const WalkerMemory& memory) {
    const std::size_t before = bytes_before_owner(memory);
    Parts parts{memory.base, before + up_to(line, memory.owner_bytes)};
    auto* state = parts.take<Walker::State>(1);
    auto* frames = parts.take<Frame>(memory.max_depth);
    auto* sites = parts.take<Site>(site_count);
    auto* pairs = parts.take<ReadPair>(memory.max_depth);
    auto* stepped = parts.take<Stepped>(std::size_t{memory.max_depth} + 1);
    auto* full_frames = parts.take<Frame>(memory.max_depth);
    auto* stepped_of_full = parts.take<Stepped>(std::size_t{memory.max_depth} + 1);
    auto* cursor = parts.take<LibunwindCursor>(1);
    if (state) {
      state->frames = frames;
      state->words_end = reinterpret_cast<ReadWord*>(memory.base + before);
      state->pairs = pairs;
      state->sites = sites;
      state->serial = 1;
      state->stepped = state->stepped_of_walk = stepped;
      state->stepped_of_full = stepped_of_full;
      state->full_frames = full_frames;
      state->cursor = cursor;
      state->max_depth = memory.max_depth;
      state->memory = memory;
    }
    return {state, parts.used};
  }
};

WalkerMemory map_walker_memory(std::uint32_t max_depth, std::size_t owner_bytes) {
  WalkerMemory memory;
  memory.owner_bytes = owner_bytes;
  memory.max_depth = std::max<std::uint32_t>(max_depth, 1);
  memory.bytes = WalkerSetup::lay_out(memory).bytes;
  memory.base = static_cast<char*>(platform::map_pages(memory.bytes));
  if (memory.base) memory.owner = memory.base + WalkerSetup::bytes_before_owner(memory);
  return memory;
}

void unmap_walker_memory(const WalkerMemory& memory) {
  if (memory.base) platform::unmap_pages(memory.base, memory.bytes);
}

bool Walker::create(const StackBounds& stack, const WalkerMemory& memory, Backend backend) {
  state_ = WalkerSetup::lay_out(memory).state;
  state_->backend = backend;
  reset(stack);
  return backend != Backend::Libunwind || (load_libunwind() && warm_up_libunwind(*this));
}

const WalkerMemory& Walker::memory() const { return state_->memory; }

void Walker::reset(const StackBounds& stack) {
  state_->stack = bounded(stack);
  forget();
}

}  // namespace refrain::unwind

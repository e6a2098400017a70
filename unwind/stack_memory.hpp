#pragma once
/// Bounds-checked loads of stack words. On the thread's own stack the check is two comparisons; elsewhere (an alternate
/// signal stack, a fiber) the kernel is asked once per page and walk. Async-signal-safe.

#include <cstdint>

#include "platform/threads.hpp"
#include "unwind/x86_64/machine.hpp"

namespace refrain::unwind {

/// A stack word, whatever object of the program it belongs to. The sanitizers, which know these objects, must not check
/// the load.
[[gnu::no_sanitize("address", "thread")]] inline std::uintptr_t stack_word(std::uintptr_t address) {
  using Word [[gnu::may_alias]] = std::uintptr_t;
  return *reinterpret_cast<const Word*>(address);
}

class StackMemory {
 public:
  StackMemory(const platform::StackBounds& own, std::uintptr_t sp) : bounds_(own) { enter(sp); }

  /// The walk is now at `sp`: if that is on the thread's own stack, this stack may be read from there on.
  void enter(std::uintptr_t sp) {
    if (!bounds_.contains(sp)) return;
    const std::uintptr_t low = sp - bounds_.low < machine::red_zone ? bounds_.low : sp - machine::red_zone;
    if (high_ && low_ <= low) return;
    low_ = low;
    high_ = bounds_.high;
  }

  /// First address of the thread's own stack that may be read.
  std::uintptr_t low() const { return low_; }

  bool is_on_own_stack(std::uintptr_t address) const { return address - low_ < high_ - low_; }

  /// False when one of the addresses lies on the thread's own stack and the other does not.
  bool are_on_same_stack(std::uintptr_t a, std::uintptr_t b) const {
    return bounds_.contains(a) == bounds_.contains(b);
  }

  bool load(std::uintptr_t address, std::uintptr_t& value) {
    if (address & 7) return false;
    if (!is_on_own_stack(address) && !is_readable(address)) return false;
    value = stack_word(address);
    return true;
  }

  /// Loads any word, aligned or not, as a DWARF expression may.
  bool load_anywhere(std::uintptr_t address, std::uintptr_t& value) {
    if (!(address & 7)) return load(address, value);
    std::uintptr_t low, high;
    const std::uintptr_t aligned = address & ~std::uintptr_t{7};
    if (!load(aligned, low) || !load(aligned + 8, high)) return false;
    const unsigned shift = static_cast<unsigned>(address & 7) * 8;
    value = low >> shift | high << (64 - shift);
    return true;
  }

 private:
  bool is_readable(std::uintptr_t address) {
    const std::uintptr_t page = address | 4095;
    for (const std::uintptr_t known : pages_)
      if (known == page) return true;
    if (address < 4096 || !platform::readable_word(address)) return false;
    pages_[next_++ % page_limit] = page;
    return true;
  }

  static constexpr unsigned page_limit = 8;
  platform::StackBounds bounds_;
  std::uintptr_t low_ = 0, high_ = 0;  ///< empty until the walk is on the thread's own stack
  std::uintptr_t pages_[page_limit] = {};
  unsigned next_ = 0;
};

}  // namespace refrain::unwind

#pragma once
/// The question that every call asks the walker, inlined into the call: whether the calling frame is known from the
/// last walk or call.

#include "unwind/rule_cache.hpp"
#include "unwind/walker_state.hpp"

namespace refrain::unwind {

/// Two adjacent stack words, see stack_word().
using Words [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = std::uint64_t;
[[gnu::no_sanitize("address", "thread")]] inline Words stack_words(std::uintptr_t address) {
  return *reinterpret_cast<const Words*>(address);
}

/// The record of the last walk.
struct Record {
  using State = Walker::State;

  static bool is_in_state(const Frame& frame, std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp, bool exact) {
    return frame.sp == sp && frame.pc == pc && frame.exact == exact && (frame.fp == fp || !frame.fp_live);
  }

  /// The number of the record's frames [0, count) that lie at `sp` or further out.
  static std::uint32_t frames_from(const State& state, std::uint32_t count, std::uintptr_t sp) {
    while (count && state.frames[count - 1].sp < sp) --count;
    return count;
  }

  /// Whether all words that the frames [0, count), count > 0, depend on are unchanged. They are compared without a
  /// branch, because nearly always none has changed; pairs two at a time.
  [[gnu::always_inline]] static bool is_unchanged(const State& state, std::uint32_t count) {
    const Frame& last = state.frames[count - 1];
    std::uintptr_t changed = 0;
    for (const ReadWord *word = state.words_end, *end = word - last.words; word-- != end;)
      changed |= stack_word(word->address) ^ word->value;
    const ReadPair* pair = state.pairs;
    const ReadPair* const end = pair + last.pairs;
    Words first = {}, second = {};
    if (last.pairs & 1) {
      first = difference(*pair);
      ++pair;
    }
    for (; pair != end; pair += 2) {
      first |= difference(pair[0]);
      second |= difference(pair[1]);
    }
    first |= second;
    return (changed | first[0] | first[1]) == 0;
  }

 private:
  [[gnu::always_inline]] static Words difference(const ReadPair& pair) {
    return stack_words(pair.address) ^ *reinterpret_cast<const Words*>(pair.values);
  }
};

Frame* Walker::known_frame(std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp) {
  State& state = *state_;
  if (state.epoch != rule_epoch()) [[unlikely]]
    return nullptr;
  const std::uint32_t count = Record::frames_from(state, state.reusable, sp);
  if (!count) [[unlikely]]
    return nullptr;
  Frame& frame = state.frames[count - 1];
  if (!Record::is_in_state(frame, pc, sp, fp, false) || !Record::is_unchanged(state, count)) [[unlikely]]
    return nullptr;
  state.reusable = count;
  return &frame;
}

}  // namespace refrain::unwind

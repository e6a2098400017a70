#include "unwind/walker.hpp"

#include <new>
#include <type_traits>
#include <utility>

#include "platform/hot.hpp"
#include "unwind/known_frame.hpp"

namespace refrain::unwind {
namespace {

/// A path changes to another stack at signal frames and resumed contexts only; a path with more changes is corrupt.
constexpr std::uint32_t stack_switch_limit = 8;
/// Limit for the number of frames of this library inside of the frame where a walk begins.
constexpr unsigned own_frame_limit = 64;
/// The kernel maps nothing in the first page.
constexpr std::uintptr_t lowest_code = 4096;
/// A frame pointer further out than this points into another stack.
constexpr std::uintptr_t largest_guessed_frame = std::uintptr_t{1} << 20;

void go_outwards(Stepped& frame, std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp, bool exact) {
  Stepped& outer = (&frame)[1];
  outer.pc = pc;
  outer.sp = sp;
  outer.fp = fp;
  outer.exact = exact;
}

/// Steps by a rule that needs (pc, sp, fp) only. `load(address, value)` reads a word if it may be read. False: a word
/// may not be read, or the frame does not move outwards.
template <class Load>
[[gnu::always_inline]] inline bool step_plainly(const Rule& rule, Stepped& frame, std::uintptr_t high, Load&& load) {
  std::uintptr_t cfa = frame.sp;
  frame.cfa_slot = frame.fp_slot = 0;
  frame.reads_fp = rule.kind != Rule::Kind::CfaFromSp;
  if (rule.kind == Rule::Kind::CfaFromFp) {
    cfa = frame.fp;
  } else if (rule.kind == Rule::Kind::CfaInWord) {
    frame.cfa_slot = frame.fp + static_cast<std::uintptr_t>(std::int64_t{rule.cfa_slot});
    if (!load(frame.cfa_slot, cfa)) return false;
  }
  cfa += static_cast<std::uintptr_t>(std::int64_t{rule.cfa_offset});
  std::uintptr_t pc;
  // Every word of the thread's own stack between sp and its top may be read.
  if (cfa < frame.sp + 8 || cfa > high) return false;
  if (!load(cfa + static_cast<std::uintptr_t>(machine::return_address_offset), pc)) return false;
  std::uintptr_t fp = frame.fp;
  if (rule.saved_fp != Rule::SavedFp::Unchanged) {
    std::uintptr_t base = cfa;
    if (rule.saved_fp == Rule::SavedFp::AtFp) {
      base = frame.fp;
      frame.reads_fp = true;
    }
    frame.fp_slot = base + static_cast<std::uintptr_t>(std::int64_t{rule.fp_offset});
    if (!load(frame.fp_slot, fp)) return false;
  }
  go_outwards(frame, pc, cfa, fp, false);
  return true;
}

std::uintptr_t function_of(std::uintptr_t pc, bool exact, const Rule& rule) {
  return lookup_address(pc, exact) - static_cast<std::uintptr_t>(std::int64_t{rule.function_offset});
}

bool is_plain(const Rule& rule) {
  return rule.kind == Rule::Kind::CfaFromSp || rule.kind == Rule::Kind::CfaFromFp || rule.kind == Rule::Kind::CfaInWord;
}

}  // namespace

/// One walk.
struct Walking {
  using State = Walker::State;

  State& state;
  const Start& start;
  const std::uint64_t epoch;

  // ---- Reuse ----

  /// The number of recorded frames [0, count), from the outermost on, none of whose read-set words has changed.
  static std::uint32_t verified(const State& state, std::uint32_t count) {
    return Record::is_unchanged(state, count) ? count : unchanged_prefix(state, count);
  }

  [[gnu::noinline]] static std::uint32_t unchanged_prefix(const State& state, std::uint32_t count) {
    const std::uint32_t word_count = state.frames[count - 1].words, pair_count = state.frames[count - 1].pairs;
    std::uint32_t word = 0, pair = 0;
    while (word < word_count && stack_word(state.word(word).address) == state.word(word).value) ++word;
    while (pair < pair_count && stack_word(state.pairs[pair].address) == state.pairs[pair].values[0] &&
           stack_word(state.pairs[pair].address + 8) == state.pairs[pair].values[1])
      ++pair;
    while (count && (state.frames[count - 1].words > word || state.frames[count - 1].pairs > pair)) --count;
    return count;
  }

  // ---- Unusual steps ----

  UnusualSteps& unusual() {
    if (!state.unusual_ready) {
      new (&state.unusual) UnusualSteps{StackMemory(state.stack, start.registers.sp), {}, false, false, 0, 0};
      state.unusual_ready = true;
    }
    return state.unusual;
  }

  [[gnu::noinline]] Outcome step_unusually(const Rule* rule, std::uint32_t n) {
    Stepped& frame = state.stepped[n];
    frame.plain = false;
    frame.guessed = false;
    frame.fp_slot = frame.cfa_slot = 0;
    if (!rule || rule->kind == Rule::Kind::NoEntry) return guess(frame, rule != nullptr);
    if (rule->kind == Rule::Kind::Signal) return leave_signal_frame(frame);
    if (rule->kind == Rule::Kind::NeedsAll) return step_with_all_registers(frame, n);
    const bool on_own_stack = unusual().memory.is_on_own_stack(frame.sp);
    auto load = [&](std::uintptr_t address, std::uintptr_t& value) { return unusual().memory.load(address, value); };
    const std::uintptr_t high = on_own_stack ? state.stack.high : ~std::uintptr_t{0};
    return step_plainly(*rule, frame, high, load) ? Outcome::Stepped : Outcome::BadStack;
  }

  Outcome leave_signal_frame(Stepped& frame) {
    StackMemory& memory = unusual().memory;
    std::uintptr_t pc, sp, fp;
    if (!memory.load(frame.sp + machine::offset_in_context(machine::return_address), pc) ||
        !memory.load(frame.sp + machine::offset_in_context(machine::stack_pointer), sp) ||
        !memory.load(frame.sp + machine::offset_in_context(machine::frame_pointer), fp))
      return Outcome::BadStack;
    return cross(frame, pc, sp, fp, true);
  }

  /// Steps to a frame whose registers were saved: one that a signal interrupted, or a context about to be resumed. It
  /// is further out on the same stack, or on another one.
  Outcome cross(Stepped& frame, std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp, bool exact) {
    UnusualSteps& steps = unusual();
    if (!steps.memory.is_on_own_stack(frame.sp) || !steps.memory.is_on_own_stack(sp) || sp <= frame.sp)
      if (++steps.stack_switches > stack_switch_limit) return Outcome::BadStack;
    // The thread's own stack, if it was left for an alternate one, may be read from where it was left.
    steps.memory.enter(sp);
    go_outwards(frame, pc, sp, fp, exact);
    return Outcome::Stepped;
  }

  /// The kind of the call before a return address; None if the tables do not cover the address or there is no call.
  machine::CallBefore plausible_call(std::uintptr_t pc) const {
    Rule rule;
    if (pc < lowest_code || !find_rule(pc, false, epoch, rule) || rule.kind == Rule::Kind::NoEntry ||
        rule.function_offset < 0)
      return machine::CallBefore::None;
    return machine::call_before(pc, function_of(pc, false, rule));
  }

  Outcome guess(Stepped& frame, bool in_module) {
    frame.guessed = true;
    if (!frame.exact && frame.pc < lowest_code) return Outcome::BadStack;  // this cannot be a return address
    return (frame.exact && guess_just_called(frame, in_module)) || guess_by_frame_pointer(frame) ? Outcome::Stepped
                                                                                                 : Outcome::NoTables;
  }

  /// Guesses that the interrupted code has pushed nothing yet: a stub, a hand-written leaf, generated code at its first
  /// instruction, or a call through a bad pointer. Only indirect calls lead outside of all modules, which distinguishes
  /// a true return address from one that an older call has left on the stack.
  bool guess_just_called(Stepped& frame, bool in_module) {
    std::uintptr_t pc;
    if (!unusual().memory.load(frame.sp, pc)) return false;
    const machine::CallBefore call = plausible_call(pc);
    if (call == machine::CallBefore::None || (!in_module && call == machine::CallBefore::Direct)) return false;
    go_outwards(frame, pc, frame.sp + 8, frame.fp, false);
    return true;
  }

  bool guess_by_frame_pointer(Stepped& frame) {
    StackMemory& memory = unusual().memory;
    std::uintptr_t pc, fp;
    if (frame.fp < frame.sp || frame.fp - frame.sp > largest_guessed_frame ||
        !memory.are_on_same_stack(frame.sp, frame.fp))
      return false;
    if (!memory.load(frame.fp, fp) || !memory.load(frame.fp + 8, pc) || plausible_call(pc) == machine::CallBefore::None)
      return false;
    go_outwards(frame, pc, frame.fp + 16, fp, false);
    return true;
  }

  Outcome step_with_all_registers(Stepped& frame, std::uint32_t n) {
    UnusualSteps& steps = unusual();
    Outcome outcome = learn_registers_at(n);
    if (outcome == Outcome::Stepped) outcome = step_fully(steps.state, steps.state_exact, steps.memory);
    if (outcome != Outcome::Stepped) {
      steps.state_known = false;
      frame.guessed = outcome == Outcome::NoTables && guess_by_frame_pointer(frame);
      return frame.guessed ? Outcome::Stepped : outcome;
    }
    ++steps.state_depth;
    const std::uintptr_t* r = steps.state.registers;
    const std::uintptr_t fp = steps.state.knows(machine::frame_pointer) ? r[machine::frame_pointer] : frame.fp;
    if (steps.state.sp_restored)
      return cross(frame, r[machine::return_address], r[machine::stack_pointer], fp, steps.state_exact);
    if (r[machine::stack_pointer] <= frame.sp ||
        (steps.memory.is_on_own_stack(frame.sp) && r[machine::stack_pointer] > state.stack.high))
      return Outcome::BadStack;
    go_outwards(frame, r[machine::return_address], r[machine::stack_pointer], fp, false);
    return Outcome::Stepped;
  }

  /// Brings the state with all registers to frame `n` of this walk.
  Outcome learn_registers_at(std::uint32_t n) {
    UnusualSteps& steps = unusual();
    if (!steps.state_known) {
      if (start.context) {
        steps.state = interrupted_state(start.context);
      } else if (!registers_of_caller()) {
        return Outcome::NoTables;
      }
      steps.state_exact = start.exact;
      steps.state_depth = 0;
      steps.state_known = true;
    }
    for (; steps.state_depth < n; ++steps.state_depth) {
      const Stepped& frame = state.stepped[steps.state_depth];
      if (frame.guessed) {
        const Stepped& outer = (&frame)[1];
        steps.state.registers[machine::return_address] = outer.pc;
        steps.state.registers[machine::stack_pointer] = outer.sp;
        steps.state.registers[machine::frame_pointer] = outer.fp;
        steps.state_exact = outer.exact;
        continue;
      }
      const Outcome outcome = step_fully(steps.state, steps.state_exact, steps.memory);
      if (outcome != Outcome::Stepped) return outcome;
    }
    const Stepped& frame = state.stepped[n];
    const bool same = steps.state.registers[machine::stack_pointer] == frame.sp &&
                      steps.state.registers[machine::return_address] == frame.pc;
    return same ? Outcome::Stepped : Outcome::NoTables;
  }

  /// For a call in progress: takes the registers here and steps outwards through this library's own frames to where the
  /// walk begins. The caller's rules can only need registers that calls preserve.
  bool registers_of_caller() {
    UnusualSteps& steps = unusual();
    machine::capture_registers(steps.state.registers);
    steps.state.known = 1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12 | 1u << 16;  // rbx, rbp, rsp, r12 to r15, rip
    steps.memory.enter(steps.state.registers[machine::stack_pointer]);
    bool exact = true;
    for (unsigned i = 0; i < own_frame_limit; ++i) {
      if (step_fully(steps.state, exact, steps.memory) != Outcome::Stepped) return false;
      const std::uintptr_t sp = steps.state.registers[machine::stack_pointer];
      if (sp > start.registers.sp) return false;
      if (sp == start.registers.sp) {
        steps.state.registers[machine::return_address] = start.registers.pc;
        return true;
      }
    }
    return false;
  }

  // ---- The walk ----

  template <bool reuse>
  [[gnu::always_inline]] Walk walk(Frame* frames) {
    const std::uintptr_t low_limit = start.registers.sp - machine::red_zone, high = state.stack.high;
    std::uintptr_t low = low_limit < state.stack.low ? state.stack.low : low_limit;
    auto load = [&low, high](std::uintptr_t address, std::uintptr_t& value) {
      if (address - low > high - 8 - low || address & 7) [[unlikely]]
        return false;
      value = stack_word(address);
      return true;
    };
    bool on_own_stack = start.registers.sp - state.stack.low < high - state.stack.low;
    bool is_verified = false;
    std::uint32_t candidates = reuse ? state.reusable : 0;
    Stepped* frame = state.stepped;
    Stepped* const limit = frame + state.max_depth;
    *frame = {start.registers.pc, start.registers.sp, start.registers.fp, 0, 0, 0, start.exact, false, false, false};
    WalkEnd end = WalkEnd::Complete;
    for (;; ++frame) {
      if constexpr (reuse) {
        candidates = Record::frames_from(state, candidates, frame->sp);
        if (candidates && Record::is_in_state(frames[candidates - 1], frame->pc, frame->sp, frame->fp, frame->exact)) {
          const std::uint32_t met = candidates;
          if (!is_verified) candidates = verified(state, met);
          is_verified = true;
          if (candidates == met) break;
        }
      }
      if (frame == limit) {
        candidates = 0;
        end = WalkEnd::DepthLimit;
        break;
      }
      if (frame->pc == 0 && frame != state.stepped) {
        candidates = 0;
        break;
      }
      if (on_own_stack && frame->sp >= high) {  // the dynamic linker's entry point, which has no table and no caller
        candidates = 0;
        break;
      }
      Rule rule;
      const bool covered = find_rule(frame->pc, frame->exact, epoch, rule);
      frame->function = 0;
      if (covered && rule.kind != Rule::Kind::NoEntry) frame->function = function_of(frame->pc, frame->exact, rule);
      if (covered && on_own_stack && is_plain(rule)) [[likely]] {
        if (step_plainly(rule, *frame, high, load)) [[likely]] {
          frame->plain = true;
          frame->guessed = false;
          continue;
        }
        end = WalkEnd::BadStack;
      } else if (covered && rule.kind == Rule::Kind::Outermost) {
        frame->plain = true;
        frame->reads_fp = false;
        frame->fp_slot = frame->cfa_slot = 0;
        candidates = 0;
        go_outwards(*frame, 0, 0, 0, false);
        ++frame;
        break;
      } else {
        const Outcome outcome =
            step_unusually(covered ? &rule : nullptr, static_cast<std::uint32_t>(frame - state.stepped));
        if (outcome == Outcome::Stepped) {
          on_own_stack = unusual().memory.is_on_own_stack(frame[1].sp);
          if (on_own_stack) low = unusual().memory.low();
          continue;
        }
        end = outcome == Outcome::NoTables ? WalkEnd::NoTables : WalkEnd::BadStack;
      }
      candidates = 0;
      ++frame;
      break;
    }
    return finish<reuse>(frames, candidates, static_cast<std::uint32_t>(frame - state.stepped), end);
  }

  /// Appends the new frames to the `reused` ones and records their dependences, from the outermost on.
  template <bool reuse>
  [[gnu::always_inline]] Walk finish(Frame* frames, std::uint32_t reused, std::uint32_t stepped, WalkEnd end) {
    const std::uint32_t depth = reused + stepped;
    if (depth > state.max_depth) [[unlikely]] {  // a full walk would have reached its limit before the old frames
      state.reusable = 0;
      state.unusual_ready = false;
      return walk_anew();
    }
    bool record = reuse && end == WalkEnd::Complete;
    bool fp_live = false;
    std::uint32_t words = 0, pairs = 0, reusable = reused;
    if (reused) {
      const Frame& last = frames[reused - 1];
      fp_live = last.fp_live;
      words = last.words;
      pairs = last.pairs;
    }
    Frame* to = frames + reused;
    for (std::uint32_t i = stepped; i-- > 0; ++to) {
      const Stepped& from = state.stepped[i];
      if (record && !from.plain) record = false;
      if (record) {
        const Stepped& outer = state.stepped[i + 1];
        if (outer.sp) {  // 0: this is the outermost frame, which has read nothing
          const std::uintptr_t pc_slot = outer.sp + static_cast<std::uintptr_t>(machine::return_address_offset);
          const bool fp_read = from.fp_slot && fp_live;
          if (fp_read && from.fp_slot == pc_slot - 8) {
            state.pairs[pairs++] = {from.fp_slot, {outer.fp, outer.pc}};
          } else {
            state.word(words++) = {pc_slot, outer.pc};
            if (fp_read) state.word(words++) = {from.fp_slot, outer.fp};
          }
          if (from.cfa_slot) state.word(words++) = {from.cfa_slot, stack_word(from.cfa_slot)};
        }
        if (from.fp_slot) fp_live = false;
        fp_live |= from.reads_fp;
        ++reusable;
      }
      *to = {from.pc, from.sp, from.fp, from.function, 0, words, pairs, from.exact, fp_live, from.fp_slot == 0, {}};
    }
    if constexpr (reuse) state.reusable = reusable;
    if (reuse && end != WalkEnd::Complete) state.reusable = 0;
    return {frames, depth, reused, end};
  }

  [[gnu::noinline]] Walk walk_anew() { return walk<true>(state.frames); }

  [[gnu::noinline]] static Walk by_library(State& state, const Start& start, Frame* frames) {
    WalkEnd end;
    const std::uint32_t depth = walk_with_libunwind(start, *state.cursor, frames, state.max_depth, end);
    return {frames, depth, 0, end};
  }
};

/// The frames of earlier calls, beside the record.
struct Sites {
  using State = Walker::State;

  static Site* set_of(State& state, std::uintptr_t pc) {
    return state.sites + sites_per_set * (pc * 0x9e3779b97f4a7c15u >> (64 - site_set_bits));
  }
  /// The site of a call in this state. Null: there is none.
  [[gnu::always_inline]] static Site* of_call(State& state, std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp) {
    Site* site = set_of(state, pc);
    for (const Site* end = site + sites_per_set; site != end; ++site)
      if (site->serial == state.serial && Record::is_in_state(site->frame, pc, sp, fp, false)) return site;
    return nullptr;
  }
  /// The site that is to hold the frame of a call: the one with the same return address, else the sites in turn.
  static Site& site_of(State& state, std::uintptr_t pc) {
    Site* set = set_of(state, pc);
    for (std::uint32_t i = 0; i < sites_per_set; ++i)
      if (set[i].frame.pc == pc) return set[i];
    return set[++state.last_kept % sites_per_set];
  }
  static void forget(State& state) {
    constexpr std::uint32_t last = (std::uint32_t{1} << 31) - 1;
    if (state.serial++ < last) return;
    for (std::uint32_t i = 0; i < site_count; ++i) state.sites[i].serial = 0;
    state.serial = 1;
  }

  /// Keeps frame `index` of the record, 0 < index < reusable.
  static void keep(State& state, std::uint32_t index) {
    const Frame& frame = state.frames[index];
    const Frame& outer = state.frames[index - 1];
    const std::uint32_t words = frame.words - outer.words, pairs = frame.pairs - outer.pairs;
    if (frame.exact || words > std::size(Site{}.words) || pairs > 1 || words + pairs == 0) return;
    Site& site = site_of(state, frame.pc);
    site.frame = frame;
    site.frame.words = words;
    site.frame.pairs = pairs;
    for (std::uint32_t i = 0; i < words; ++i) site.words[i] = state.word(outer.words + i);
    if (pairs) site.pair = state.pairs[outer.pairs];
    site.outer_tag = outer.tag;
    site.outer_fp_live = outer.fp_live;
    site.serial = state.serial;
  }

  // The return address is the first word, or the second of a pair. The frame pointer, if outer frames need it and the
  // step reads it, is the other one.
  static std::uintptr_t return_slot(const Site& site) {
    return site.frame.pairs ? site.pair.address + 8 : site.words[0].address;
  }
  /// Stack pointer of the outer frame.
  static std::uintptr_t outer_sp(const Site& site) {
    return return_slot(site) - static_cast<std::uintptr_t>(machine::return_address_offset);
  }
  /// Whether the step outwards from a site still leads to the frame `outer`, which has the right stack pointer. The
  /// step depends on the site's words only.
  [[gnu::always_inline, gnu::no_sanitize("address", "thread")]] static bool leads_to(const Site& site,
                                                                                     const Frame& outer) {
    if (site.outer_tag != outer.tag || site.outer_fp_live != outer.fp_live) return false;
    const bool paired = site.frame.pairs != 0;
    if (outer.pc != (paired ? site.pair.values[1] : site.words[0].value)) return false;
    if (outer.fp_live) {
      const std::uintptr_t read = paired ? site.pair.values[0] : site.words[1].value;
      if (outer.fp != (site.frame.fp_kept ? site.frame.fp : read)) return false;
    }
    bool same = true;
    for (std::uint32_t i = 0; i < site.frame.words; ++i)
      same &= stack_word(site.words[i].address) == site.words[i].value;
    if (paired)
      same &=
          stack_word(site.pair.address) == site.pair.values[0] && stack_word(return_slot(site)) == site.pair.values[1];
    return same;
  }

  /// Up to this many frames of the record further in than the call's caller are kept, so that two calls of one function
  /// need not replace each other; but all calls have to skip them.
  static constexpr std::uint32_t max_passed = 3;

  [[gnu::always_inline]] static Frame* find(State& state, std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp) {
    Site* site = of_call(state, pc, sp, fp);
    if (!site) return nullptr;
    const std::uint32_t outer = Record::frames_from(state, state.reusable, outer_sp(*site));
    if (!outer || outer >= state.max_depth) return nullptr;
    const Frame& caller = state.frames[outer - 1];
    if (caller.sp != outer_sp(*site) || !leads_to(*site, caller) || !Record::is_unchanged(state, outer)) return nullptr;
    if (state.reusable - outer > max_passed) state.reusable = outer;
    return &site->frame;
  }
};

Walk Walker::walk(const Start& start) {
  State& state = *state_;
  if (state.backend == Backend::Libunwind) [[unlikely]]
    return Walking::by_library(state, start, state.frames);
  const std::uint64_t epoch = rule_epoch();
  if (state.epoch != epoch) [[unlikely]] {
    state.epoch = epoch;
    state.reusable = 0;
    Sites::forget(state);
  }
  state.unusual_ready = false;
  state.stepped = state.stepped_of_walk;  // walk_fully() may have been left by a jump
  return Walking{state, start, epoch}.walk<true>(state.frames);
}

[[gnu::noinline]] REFRAIN_FIRST_HOT_CODE Frame* Walker::other_known_frame(std::uintptr_t pc, std::uintptr_t sp,
                                                                          std::uintptr_t fp) {
  State& state = *state_;
  if (state.backend == Backend::Libunwind || state.epoch != rule_epoch()) return nullptr;
  if (Frame* frame = Sites::find(state, pc, sp, fp)) [[likely]]
    return frame;
  // The next walk may replace this frame.
  if (state.reusable > 1) Sites::keep(state, state.reusable - 1);
  return nullptr;
}

void Walker::keep(const Frame& frame) {
  State& state = *state_;
  const std::uintptr_t offset =
      reinterpret_cast<std::uintptr_t>(&frame) - reinterpret_cast<std::uintptr_t>(state.frames);
  const std::uintptr_t index = offset / sizeof(Frame);  // beyond the record for the frame of a site
  if (index > 0 && index < state.reusable) Sites::keep(state, static_cast<std::uint32_t>(index));
}

Walk Walker::walk_fully(const Start& start) {
  State& state = *state_;
  if (state.backend == Backend::Libunwind) return Walking::by_library(state, start, state.full_frames);
  // Saves the state of a walk that a signal may have interrupted.
  static_assert(std::is_trivially_copyable_v<UnusualSteps>);
  alignas(UnusualSteps) std::byte unusual[sizeof(UnusualSteps)];
  __builtin_memcpy(unusual, &state.unusual, sizeof unusual);
  const bool was_ready = std::exchange(state.unusual_ready, false);
  Stepped* const stepped = std::exchange(state.stepped, state.stepped_of_full);
  const Walk walk = Walking{state, start, rule_epoch()}.walk<false>(state.full_frames);
  state.stepped = stepped;
  state.unusual_ready = was_ready;
  __builtin_memcpy(&state.unusual, unusual, sizeof unusual);
  return walk;
}

StackBounds Walker::stack() const { return state_->stack; }

void Walker::forget(std::uint32_t kept) {
  if (!state_) return;
  if (state_->reusable > kept) state_->reusable = kept;
  Sites::forget(*state_);
}

}  // namespace refrain::unwind

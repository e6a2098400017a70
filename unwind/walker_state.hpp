#pragma once
/// The state of a Walker, shared by its part for handlers (walker.cpp) and its part for ordinary context
/// (walker_setup.cpp).

#include <cstddef>
#include <cstdint>

#include "unwind/full_step.hpp"
#include "unwind/libunwind_backend.hpp"
#include "unwind/stack_memory.hpp"
#include "unwind/walker.hpp"

namespace refrain::unwind {

/// A frame of the walk in progress, and the dependences of the step from it outwards; innermost first.
struct Stepped {
  std::uintptr_t pc, sp, fp;
  std::uintptr_t function;
  std::uintptr_t fp_slot;   ///< address from which the outer frame's fp was read; 0: it is this frame's
  std::uintptr_t cfa_slot;  ///< address from which the outer frame's sp was read; 0: it is sp or fp + constant
  bool exact;
  bool reads_fp;
  bool plain;    ///< the step is a pure function of the state and of those words, on the thread's own stack
  bool guessed;  ///< the step was guessed, without tables
};

/// A stack word that the frames of the last walk depend on.
struct ReadWord {
  std::uintptr_t address;
  std::uintptr_t value;
};
/// Two adjacent words: a saved frame pointer and the return address above it.
struct ReadPair {
  std::uintptr_t address;
  std::uintptr_t values[2];
};

/// The frame of an earlier call, with the caller's tag and notes, kept beside the record of the last walk, because
/// functions alternate between calls. It is the frame of a new call in the same state if its own words are unchanged
/// and the frames outside of it are the same.
struct alignas(64) Site {
  Frame frame;  ///< `words` and `pairs`: of this frame alone
  ReadWord words[2];
  ReadPair pair;
  std::uint32_t outer_tag;
  std::uint32_t serial : 31;  ///< State::serial
  std::uint32_t outer_fp_live : 1;
};
static_assert(sizeof(Site) == 128);
/// Sets of two: call sites of a function are close to each other, and two of them often have the same hash.
inline constexpr std::uint32_t site_set_bits = 4, sites_per_set = 2, site_count = sites_per_set << site_set_bits;

/// State that only unusual steps need; set up at the first one of a walk.
struct UnusualSteps {
  StackMemory memory;
  MachineState state;  ///< all registers of the frame that is `state_depth` steps outside of the start
  bool state_exact;
  bool state_known;
  std::uint32_t state_depth;
  std::uint32_t stack_switches;
};

struct alignas(64) Walker::State {
  ReadWord& word(std::uint32_t i) const { return words_end[-1 - static_cast<std::ptrdiff_t>(i)]; }

  // Read by a call by a known path: one cache line.
  std::uint64_t epoch;     ///< rule_epoch() of the record of the last walk
  std::uint32_t reusable;  ///< frames [0, reusable) may be reused
  std::uint32_t max_depth;
  Frame* frames;        ///< max_depth frames, outermost first
  ReadWord* words_end;  ///< end of the words, which grow downwards from those of the outermost frame
  ReadPair* pairs;
  StackBounds stack;  ///< the thread's own; `low` is never 1 here

  Backend backend;
  bool unusual_ready;
  WalkerMemory memory;

  Site* sites;           ///< site_count, by the return address
  std::uint32_t serial;  ///< serial number of valid sites; never 0
  std::uint32_t last_kept;
  Stepped* stepped;          ///< steps of the walk in progress: one of the next two arrays, of max_depth + 1
  Stepped* stepped_of_walk;  ///< for walk()
  Stepped* stepped_of_full;  ///< for walk_fully(), which may run on top of a walk that a signal has interrupted
  Frame* full_frames;        ///< max_depth frames for walk_fully()
  LibunwindCursor* cursor;
  union {
    UnusualSteps unusual;
  };
};

/// At most this many stack words a frame.
inline constexpr std::size_t words_per_frame = 3;

}  // namespace refrain::unwind

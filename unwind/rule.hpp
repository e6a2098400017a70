#pragma once
/// The step from a frame to the next outer one, at one program counter: a row of the unwind table in 16 bytes.

#include <cstdint>

#include "unwind/call_frame_program.hpp"

namespace refrain::unwind {

struct Rule {
  enum class Kind : std::uint8_t {
    NoEntry,    ///< a module covers the address, but no table entry does
    CfaFromSp,  ///< CFA = sp + cfa_offset
    CfaFromFp,  ///< CFA = fp + cfa_offset
    CfaInWord,  ///< CFA = the word at fp + cfa_slot, + cfa_offset
    Outermost,  ///< the return address is undefined, or there is no caller: see rule.cpp
    Signal,     ///< the signal trampoline: the kernel's context is at sp
    NeedsAll,   ///< needs other registers or a general expression
  };
  enum class SavedFp : std::uint8_t { Unchanged, AtCfa, AtFp };  ///< in memory at CFA + fp_offset, or at fp + fp_offset

  std::int32_t cfa_offset;
  std::int32_t function_offset;  ///< distance of the address that was looked up from the start of its function
  std::int32_t cfa_slot;
  std::int16_t fp_offset;
  Kind kind;
  SavedFp saved_fp;
};
static_assert(sizeof(Rule) == 16);

/// The address to look up in the tables for a program counter.
constexpr std::uintptr_t lookup_address(std::uintptr_t pc, bool exact) { return exact ? pc : pc - 1; }

/// First address of the function to which a stack made by makecontext returns; set by `start_rule_cache`.
inline std::uintptr_t end_of_context = 0;

/// Reads the rule for a program counter from the tables, bypassing the cache. False when no module covers it.
/// Async-signal-safe; needs about 4 KB of stack.
bool read_rule(std::uintptr_t pc, bool exact, Rule& rule);

}  // namespace refrain::unwind

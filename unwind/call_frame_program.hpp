#pragma once
/// Runs call-frame instructions up to an address (DWARF 4, section 6.4.2): how to find each register of the calling
/// frame.

#include <cstdint>

#include "unwind/frame_entry.hpp"
#include "unwind/x86_64/machine.hpp"

namespace refrain::unwind {

struct RegisterRule {
  enum class Kind : std::uint8_t {
    SameValue,  ///< unchanged; also where the table has no rule
    Undefined,
    SavedAt,            ///< in memory at CFA + value
    IsOffset,           ///< CFA + value
    InRegister,         ///< in register `value`
    SavedAtExpression,  ///< in memory at the result of the expression block at address `value`
    IsExpression,       ///< the result of that expression
  };
  Kind kind;
  std::int64_t value;
};

/// One row of the table: the rules at one instruction.
struct Row {
  bool cfa_is_expression;
  std::uint64_t cfa_register;
  std::int64_t cfa_offset;  ///< or the address of the expression block
  RegisterRule registers[machine::register_count];
};

/// The row at `address`. False when an instruction is not understood. Async-signal-safe; needs about 3 KB of stack.
bool find_row(const FrameEntry& entry, std::uintptr_t address, Row& row);

}  // namespace refrain::unwind

#pragma once
/// Evaluation of DWARF expressions in call-frame tables (DWARF 4, section 2.5): with real registers and memory, or to a
/// formula in (sp, fp, CFA) that a plain rule can hold. The formula covers the two expressions that occur frequently:
/// that of linkage-table stubs, which depends on sp and the program counter only, and that of functions that realign
/// their stack, which keep the CFA in memory at a fixed distance from fp.

#include <cstdint>

#include "unwind/stack_memory.hpp"
#include "unwind/x86_64/machine.hpp"

namespace refrain::unwind {

/// An expression block: its length and its operations.
struct Expression {
  std::uintptr_t block;
  std::uintptr_t limit;  ///< nothing at or above may be read
};

/// Registers by DWARF number. `known` has a bit for each register whose value is known.
struct MachineState {
  std::uintptr_t registers[machine::register_count];
  std::uint32_t known;
  bool sp_restored;  ///< the table of the next inner frame has a rule for sp: that frame resumes a saved context

  bool knows(std::uint64_t r) const { return r < machine::register_count && known >> r & 1; }
};

/// `initial`, if not null, is pushed first (the CFA, for register rules). False when the expression is not understood
/// or reads memory that cannot be read. Async-signal-safe.
bool evaluate(const Expression& expression, const MachineState& state, const std::uintptr_t* initial,
              StackMemory& memory, std::uintptr_t& result);

/// Base + offset, where a base of kind WordAtFp is the stack word at fp + slot.
struct Formula {
  enum class Base : std::uint8_t { Constant, Sp, Fp, Cfa, WordAtFp };
  Base base;
  std::int64_t offset;
  std::int64_t slot;
};

/// Converts the expression at program counter `pc` to a formula. False when it has no such form. Async-signal-safe.
bool as_formula(const Expression& expression, std::uintptr_t pc, bool starts_with_cfa, Formula& result);

}  // namespace refrain::unwind

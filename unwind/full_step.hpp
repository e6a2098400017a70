#pragma once
/// One step outwards with all registers: for frames whose rule does not fit into (pc, sp, fp).

#include <cstdint>

#include "unwind/expression.hpp"
#include "unwind/stack_memory.hpp"

namespace refrain::unwind {

enum class Outcome : std::uint8_t {
  Stepped,
  NoTables,  ///< no entry, or one that is not understood, needs a register that is not known, or is the outermost
             ///< frame's
  BadStack,  ///< a word that cannot be read, or a frame that does not move outwards
};

/// Replaces the registers of a frame by those of its caller. `exact` is as in Frame, in and out. After an error the
/// state is void. Async-signal-safe; needs about 4 KB of stack.
Outcome step_fully(MachineState& state, bool& exact, StackMemory& memory);

/// All registers of an interrupted thread.
MachineState interrupted_state(const void* context);

}  // namespace refrain::unwind

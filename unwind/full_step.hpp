#pragma once
/// A step outwards with all registers, for frames whose rule needs more than (pc, sp, fp).

#include <cstdint>

#include "unwind/expression.hpp"
#include "unwind/stack_memory.hpp"

namespace refrain::unwind {

enum class Outcome : std::uint8_t {
  Stepped,
  NoTables,  ///< there is no entry, or it is not understood, needs a register that is not known, or marks the outermost
             ///< frame
  BadStack,  ///< a word cannot be read, or the frame does not move outwards
};

/// Replaces the registers of a frame by those of its caller. `exact`: as in Frame, in and out. After an error the state
/// is undefined. Async-signal-safe; needs about 4 KB of stack.
Outcome step_fully(MachineState& state, bool& exact, StackMemory& memory);

/// All registers of an interrupted thread.
MachineState interrupted_state(const void* context);

}  // namespace refrain::unwind

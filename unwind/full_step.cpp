#include "unwind/full_step.hpp"

#include "unwind/rule.hpp"
#include "unwind/tables.hpp"

namespace refrain::unwind {
namespace {

bool find_cfa(const Row& row, const FrameEntry& entry, const MachineState& state, StackMemory& memory,
              std::uintptr_t& cfa) {
  if (row.cfa_is_expression)
    return evaluate({static_cast<std::uintptr_t>(row.cfa_offset), entry.module_end}, state, nullptr, memory, cfa);
  if (!state.knows(row.cfa_register)) return false;
  cfa = state.registers[row.cfa_register] + static_cast<std::uintptr_t>(row.cfa_offset);
  return true;
}

/// The value of the register `r` in the calling frame. False when it cannot be read; an unknown value is no error.
bool find_value(const RegisterRule& rule, unsigned r, const FrameEntry& entry, const MachineState& state,
                std::uintptr_t cfa, StackMemory& memory, std::uintptr_t& value, bool& known) {
  known = true;
  switch (rule.kind) {
    case RegisterRule::Kind::SameValue:
      // The return address of the outer frame differs from this one, and the table does not say where it is.
      known = state.knows(r) && r != machine::return_address;
      value = state.registers[r];
      return true;
    case RegisterRule::Kind::SavedAt: return memory.load(cfa + static_cast<std::uintptr_t>(rule.value), value);
    case RegisterRule::Kind::IsOffset: value = cfa + static_cast<std::uintptr_t>(rule.value); return true;
    case RegisterRule::Kind::InRegister:
      known = state.knows(static_cast<std::uint64_t>(rule.value));
      if (known) value = state.registers[rule.value];
      return true;
    case RegisterRule::Kind::SavedAtExpression:
    case RegisterRule::Kind::IsExpression:
      known = evaluate({static_cast<std::uintptr_t>(rule.value), entry.module_end}, state, &cfa, memory, value);
      return !known || rule.kind == RegisterRule::Kind::IsExpression || memory.load(value, value);
    default: known = false; return true;
  }
}

/// Whether fp has been restored already although the row says "saved at fp". gcc's tables do so for the last
/// instructions of functions that realign their stack, where the CFA is in another register. At the begin of those
/// functions the same row is right: there fp was just made equal to sp.
bool fp_is_restored(const Row& row, const FrameEntry& entry, const MachineState& state) {
  const RegisterRule& rule = row.registers[machine::frame_pointer];
  Formula formula;
  return rule.kind == RegisterRule::Kind::SavedAtExpression && !row.cfa_is_expression &&
         state.registers[machine::frame_pointer] != state.registers[machine::stack_pointer] &&
         as_formula({static_cast<std::uintptr_t>(rule.value), entry.module_end}, 0, true, formula) &&
         formula.base == Formula::Base::Fp;
}

}  // namespace

Outcome step_fully(MachineState& state, bool& exact, StackMemory& memory) {
  const std::uintptr_t pc = state.registers[machine::return_address];
  const std::uintptr_t address = lookup_address(pc, exact);
  Table table;
  FrameEntry entry;
  Row row;
  if (!find_table(address, table) || !find_frame_entry(table, address, entry) || !find_row(entry, address, row) ||
      entry.return_address_register != machine::return_address ||
      row.registers[machine::return_address].kind == RegisterRule::Kind::Undefined)
    return Outcome::NoTables;

  std::uintptr_t cfa;
  if (!find_cfa(row, entry, state, memory, cfa)) return Outcome::NoTables;
  if (fp_is_restored(row, entry, state)) row.registers[machine::frame_pointer] = {RegisterRule::Kind::SameValue, 0};
  MachineState outer{};
  for (unsigned r = 0; r < machine::register_count; ++r) {
    bool known = false;
    std::uintptr_t value = 0;
    if (!find_value(row.registers[r], r, entry, state, cfa, memory, value, known)) return Outcome::BadStack;
    if (!known) continue;
    outer.registers[r] = value;
    outer.known |= 1u << r;
  }
  outer.sp_restored = row.registers[machine::stack_pointer].kind != RegisterRule::Kind::SameValue;
  if (!outer.sp_restored) {
    outer.registers[machine::stack_pointer] = cfa;
    outer.known |= 1u << machine::stack_pointer;
  }
  if (!outer.knows(machine::return_address) || !outer.knows(machine::stack_pointer)) return Outcome::NoTables;
  exact = entry.signal_frame;
  state = outer;
  return Outcome::Stepped;
}

MachineState interrupted_state(const void* context) {
  MachineState state{};
  for (unsigned r = 0; r < machine::register_count; ++r) {
    std::memcpy(&state.registers[r], static_cast<const char*>(context) + machine::offset_in_context(r),
                sizeof state.registers[r]);
    state.known |= 1u << r;
  }
  return state;
}

}  // namespace refrain::unwind

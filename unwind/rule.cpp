#include "unwind/rule.hpp"

#include "unwind/expression.hpp"
#include "unwind/tables.hpp"

namespace refrain::unwind {

namespace {

template <class To>
bool assign(To& to, std::int64_t value) {
  to = static_cast<To>(value);
  return to == value;
}

bool take_cfa(const Row& row, const FrameEntry& entry, std::uintptr_t pc, Rule& rule) {
  if (!row.cfa_is_expression) {
    if (row.cfa_register == machine::stack_pointer) rule.kind = Rule::Kind::CfaFromSp;
    else if (row.cfa_register == machine::frame_pointer) rule.kind = Rule::Kind::CfaFromFp;
    else return false;
    return assign(rule.cfa_offset, row.cfa_offset);
  }
  Formula formula;
  if (!as_formula({static_cast<std::uintptr_t>(row.cfa_offset), entry.module_end}, pc, false, formula)) return false;
  switch (formula.base) {
    case Formula::Base::Sp: rule.kind = Rule::Kind::CfaFromSp; break;
    case Formula::Base::Fp: rule.kind = Rule::Kind::CfaFromFp; break;
    case Formula::Base::WordAtFp: rule.kind = Rule::Kind::CfaInWord; break;
    default: return false;
  }
  return assign(rule.cfa_offset, formula.offset) && assign(rule.cfa_slot, formula.slot);
}

/// In functions that realign their stack gcc's tables say "saved at fp" for the last instructions, too, where fp has
/// been restored. There the CFA is no longer found through fp.
bool take_fp(const Row& row, const FrameEntry& entry, std::uintptr_t pc, Rule& rule) {
  const RegisterRule& fp = row.registers[machine::frame_pointer];
  switch (fp.kind) {
    case RegisterRule::Kind::SameValue:
    case RegisterRule::Kind::Undefined: rule.saved_fp = Rule::SavedFp::Unchanged; return true;
    case RegisterRule::Kind::SavedAt: rule.saved_fp = Rule::SavedFp::AtCfa; return assign(rule.fp_offset, fp.value);
    case RegisterRule::Kind::SavedAtExpression: {
      Formula formula;
      if (!as_formula({static_cast<std::uintptr_t>(fp.value), entry.module_end}, pc, true, formula)) return false;
      if (formula.base == Formula::Base::Cfa) rule.saved_fp = Rule::SavedFp::AtCfa;
      else if (formula.base == Formula::Base::Fp) rule.saved_fp = Rule::SavedFp::AtFp;
      else return false;
      return assign(rule.fp_offset, formula.offset);
    }
    default: return false;
  }
}

bool take_return_address(const Row& row, const FrameEntry& entry) {
  const RegisterRule& ra = row.registers[machine::return_address];
  return entry.return_address_register == machine::return_address && ra.kind == RegisterRule::Kind::SavedAt &&
         ra.value == machine::return_address_offset;
}

/// Whether a return address without a call before it is the first instruction of a function: makecontext and similar
/// functions put such an address at the outer end of a new stack.
bool begins_context(const Table& table, std::uintptr_t pc) {
  FrameEntry entry;
  return pc < table.end && find_frame_entry(table, pc, entry) && entry.begin == pc && !entry.signal_frame;
}

}  // namespace

bool read_rule(std::uintptr_t pc, bool exact, Rule& rule) {
  rule = Rule{};
  const std::uintptr_t address = lookup_address(pc, exact);
  Table table;
  if (!find_table(address, table)) return false;
  FrameEntry entry;
  const bool found = find_frame_entry(table, address, entry);
  if (!exact && (!found || (entry.end == pc && machine::call_before(pc, entry.begin) == machine::CallBefore::None)) &&
      begins_context(table, pc)) {
    rule.kind = Rule::Kind::Outermost;
    rule.function_offset = -1;
    return true;
  }
  Row row;
  if (!found || !assign(rule.function_offset, static_cast<std::int64_t>(address - entry.begin)) ||
      !find_row(entry, address, row))
    return true;  // NoEntry
  // glibc's table for `__start_context` says neither that it is outermost nor that it leaves the stack that it began
  // on.
  if (row.registers[machine::return_address].kind == RegisterRule::Kind::Undefined || entry.begin == end_of_context) {
    rule.kind = Rule::Kind::Outermost;
  } else if (entry.signal_frame && pc + machine::signal_trampoline_size <= entry.end &&
             machine::is_signal_trampoline(pc)) {
    rule.kind = Rule::Kind::Signal;
  } else if (entry.signal_frame || !take_return_address(row, entry) || !take_cfa(row, entry, pc, rule) ||
             !take_fp(row, entry, pc, rule)) {
    rule.kind = Rule::Kind::NeedsAll;
  }
  return true;
}

}  // namespace refrain::unwind

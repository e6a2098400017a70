#include "unwind/call_frame_program.hpp"

#include "unwind/byte_reader.hpp"

namespace refrain::unwind {
namespace {

// DW_CFA_*: the first three carry an operand in their low 6 bits.
enum : std::uint8_t {
  advance_location = 0x40,
  saved_at_offset = 0x80,
  restore = 0xc0,
  nothing = 0x00,
  set_location = 0x01,
  advance_location1 = 0x02,
  advance_location2 = 0x03,
  advance_location4 = 0x04,
  offset_extended = 0x05,
  restore_extended = 0x06,
  undefined = 0x07,
  same_value = 0x08,
  in_register = 0x09,
  remember_state = 0x0a,
  restore_state = 0x0b,
  define_cfa = 0x0c,
  define_cfa_register = 0x0d,
  define_cfa_offset = 0x0e,
  define_cfa_expression = 0x0f,
  saved_at_expression = 0x10,
  offset_extended_signed = 0x11,
  define_cfa_signed = 0x12,
  define_cfa_offset_signed = 0x13,
  value_offset = 0x14,
  value_offset_signed = 0x15,
  value_expression = 0x16,
  gnu_arguments_size = 0x2e,
  gnu_negative_offset_extended = 0x2f,
};

/// Compilers nest remembered states once; a table that nests deeper than this is not understood.
constexpr unsigned remembered_limit = 8;

class Interpreter {
 public:
  Interpreter(const FrameEntry& entry, std::uintptr_t address, Row& row)
      : entry_(entry), address_(address), location_(entry.begin), row_(row) {}

  /// Runs the instructions that apply at the address.
  bool run(const Program& program) {
    ByteReader reader(program.begin, program.end);
    while (reader.has_more()) {
      const auto code = reader.fixed<std::uint8_t>();
      if (!execute(code, reader) || !reader.ok()) return false;
      if (location_ > address_) return true;
    }
    return reader.ok();
  }

  void keep_as_initial(const Row& row) { initial_ = &row; }

 private:
  using Kind = RegisterRule::Kind;

  bool execute(std::uint8_t code, ByteReader& reader) {
    const std::uint8_t operand = code & 0x3f;
    const auto plain = [&] { return static_cast<std::int64_t>(reader.uleb()); };
    const auto factored = [&] { return plain() * entry_.data_alignment; };
    const auto signed_factored = [&] { return reader.sleb() * entry_.data_alignment; };
    const auto block = [&] {
      const auto address = static_cast<std::int64_t>(reader.position());
      reader.skip(reader.uleb());
      return address;
    };
    switch (code & 0xc0) {
      case advance_location: location_ += operand * entry_.code_alignment; return true;
      case saved_at_offset: set(operand, Kind::SavedAt, factored()); return true;
      case restore: return restore_initial(operand);
      default: break;
    }
    switch (code) {
      case nothing: return true;
      case set_location: return false;  // not in .eh_frame of this machine
      case advance_location1: location_ += reader.fixed<std::uint8_t>() * entry_.code_alignment; return true;
      case advance_location2: location_ += reader.fixed<std::uint16_t>() * entry_.code_alignment; return true;
      case advance_location4: location_ += reader.fixed<std::uint32_t>() * entry_.code_alignment; return true;
      case offset_extended: return rule_of_register(reader, Kind::SavedAt, factored);
      case offset_extended_signed: return rule_of_register(reader, Kind::SavedAt, signed_factored);
      case gnu_negative_offset_extended: return rule_of_register(reader, Kind::SavedAt, [&] { return -factored(); });
      case value_offset: return rule_of_register(reader, Kind::IsOffset, factored);
      case value_offset_signed: return rule_of_register(reader, Kind::IsOffset, signed_factored);
      case in_register: return rule_of_register(reader, Kind::InRegister, plain);
      case saved_at_expression: return rule_of_register(reader, Kind::SavedAtExpression, block);
      case value_expression: return rule_of_register(reader, Kind::IsExpression, block);
      case undefined: set(reader.uleb(), Kind::Undefined, 0); return true;
      case same_value: set(reader.uleb(), Kind::SameValue, 0); return true;
      case restore_extended: return restore_initial(reader.uleb());
      case remember_state:
        if (remembered_count_ == remembered_limit) return false;
        remembered_[remembered_count_++] = row_;
        return true;
      case restore_state:
        if (remembered_count_ == 0) return false;
        row_ = remembered_[--remembered_count_];
        return true;
      case define_cfa: return read_cfa(reader, plain);
      case define_cfa_signed: return read_cfa(reader, signed_factored);
      case define_cfa_register: row_.cfa_register = reader.uleb(); return !row_.cfa_is_expression;
      case define_cfa_offset: row_.cfa_offset = plain(); return !row_.cfa_is_expression;
      case define_cfa_offset_signed: row_.cfa_offset = signed_factored(); return !row_.cfa_is_expression;
      case define_cfa_expression:
        row_.cfa_is_expression = true;
        row_.cfa_offset = block();
        return true;
      case gnu_arguments_size: reader.uleb(); return true;
      default: return false;
    }
  }

  /// Reads the rule of a register: its number, then the operand, by `value`. Other registers than the general ones
  /// (vector registers) are ignored.
  template <class Value>
  bool rule_of_register(ByteReader& reader, Kind kind, const Value& value) {
    const std::uint64_t r = reader.uleb();
    set(r, kind, value());
    return true;
  }
  template <class Value>
  bool read_cfa(ByteReader& reader, const Value& offset) {
    row_.cfa_register = reader.uleb();
    row_.cfa_offset = offset();
    row_.cfa_is_expression = false;
    return true;
  }
  void set(std::uint64_t r, Kind kind, std::int64_t value) {
    if (r < machine::register_count) row_.registers[r] = {kind, value};
  }
  bool restore_initial(std::uint64_t r) {
    if (!initial_) return false;
    if (r < machine::register_count) row_.registers[r] = initial_->registers[r];
    return true;
  }

  const FrameEntry& entry_;
  const std::uintptr_t address_;
  std::uintptr_t location_;
  Row& row_;
  const Row* initial_ = nullptr;
  Row remembered_[remembered_limit];
  unsigned remembered_count_ = 0;
};

}  // namespace

bool find_row(const FrameEntry& entry, std::uintptr_t address, Row& row) {
  row = Row{};
  Interpreter interpreter(entry, address, row);
  if (!interpreter.run(entry.initial)) return false;
  const Row initial = row;
  interpreter.keep_as_initial(initial);
  return interpreter.run(entry.own);
}

}  // namespace refrain::unwind

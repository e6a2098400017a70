#include "unwind/expression.hpp"

#include <algorithm>

#include "unwind/byte_reader.hpp"

namespace refrain::unwind {
namespace {

// DW_OP_*.
enum : std::uint8_t {
  op_addr = 0x03,
  op_deref = 0x06,
  op_const1u = 0x08,
  op_const1s = 0x09,
  op_const2u = 0x0a,
  op_const2s = 0x0b,
  op_const4u = 0x0c,
  op_const4s = 0x0d,
  op_const8u = 0x0e,
  op_const8s = 0x0f,
  op_constu = 0x10,
  op_consts = 0x11,
  op_dup = 0x12,
  op_drop = 0x13,
  op_over = 0x14,
  op_pick = 0x15,
  op_swap = 0x16,
  op_rot = 0x17,
  op_abs = 0x19,
  op_and = 0x1a,
  op_div = 0x1b,
  op_minus = 0x1c,
  op_mod = 0x1d,
  op_mul = 0x1e,
  op_neg = 0x1f,
  op_not = 0x20,
  op_or = 0x21,
  op_plus = 0x22,
  op_plus_uconst = 0x23,
  op_shl = 0x24,
  op_shr = 0x25,
  op_shra = 0x26,
  op_xor = 0x27,
  op_bra = 0x28,
  op_eq = 0x29,
  op_ge = 0x2a,
  op_gt = 0x2b,
  op_le = 0x2c,
  op_lt = 0x2d,
  op_ne = 0x2e,
  op_skip = 0x2f,
  op_lit0 = 0x30,
  op_lit31 = 0x4f,
  op_breg0 = 0x70,
  op_breg31 = 0x8f,
  op_bregx = 0x92,
  op_deref_size = 0x94,
  op_nop = 0x96,
};

constexpr unsigned stack_limit = 32;
constexpr unsigned operation_limit = 256;  ///< expressions may loop

/// The stack machine, over any kind of value. `Values` provides Value, constant(u64), breg(register, offset, Value&),
/// deref(Value&, size), add(Value&, Value), and number(Value, u64&) for operations that need plain numbers.
template <class Values>
bool run(const Expression& expression, Values& values, const typename Values::Value* initial,
         typename Values::Value& result) {
  using Value = typename Values::Value;
  ByteReader head(expression.block, expression.limit);
  const std::uint64_t length = head.uleb();
  const std::uintptr_t begin = head.position();
  if (!head.ok() || length > expression.limit - begin) return false;
  ByteReader reader(begin, begin + length);

  Value stack[stack_limit];
  unsigned depth = 0;
  auto push = [&](const Value& v) {
    if (depth == stack_limit) return false;
    stack[depth++] = v;
    return true;
  };
  auto pick = [&](std::uint64_t index) { return index < depth && push(stack[depth - 1 - index]); };
  auto push_register = [&](std::uint64_t r) {
    Value v;
    const std::int64_t offset = reader.sleb();
    return values.breg(r, offset, v) && push(v);
  };
  auto binary = [&](auto&& combine) {  // on plain numbers
    std::uint64_t a, b;
    if (depth < 2 || !values.number(stack[depth - 2], a) || !values.number(stack[depth - 1], b)) return false;
    --depth;
    stack[depth - 1] = values.constant(combine(a, b));
    return true;
  };
  auto compare = [&](auto&& holds) {
    return binary([&](std::uint64_t a, std::uint64_t b) -> std::uint64_t {
      return holds(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)) ? 1 : 0;
    });
  };
  auto jump = [&](std::int16_t distance) {
    const std::uintptr_t target = reader.position() + static_cast<std::uintptr_t>(std::int64_t{distance});
    if (target < begin || target > begin + length) return false;
    reader = ByteReader(target, begin + length);
    return true;
  };

  if (initial) push(*initial);
  for (unsigned n = 0; reader.has_more(); ++n) {
    if (n == operation_limit) return false;
    const auto op = reader.fixed<std::uint8_t>();
    bool fine = true;
    if (op >= op_lit0 && op <= op_lit31) {
      fine = push(values.constant(op - op_lit0));
    } else if (op >= op_breg0 && op <= op_breg31) {
      fine = push_register(op - op_breg0);
    } else {
      switch (op) {
        case op_addr:
        case op_const8u:
        case op_const8s: fine = push(values.constant(reader.fixed<std::uint64_t>())); break;
        case op_const1u: fine = push(values.constant(reader.fixed<std::uint8_t>())); break;
        case op_const2u: fine = push(values.constant(reader.fixed<std::uint16_t>())); break;
        case op_const4u: fine = push(values.constant(reader.fixed<std::uint32_t>())); break;
        case op_const1s: fine = push(values.constant(std::uint64_t(std::int64_t{reader.fixed<std::int8_t>()}))); break;
        case op_const2s: fine = push(values.constant(std::uint64_t(std::int64_t{reader.fixed<std::int16_t>()}))); break;
        case op_const4s: fine = push(values.constant(std::uint64_t(std::int64_t{reader.fixed<std::int32_t>()}))); break;
        case op_constu: fine = push(values.constant(reader.uleb())); break;
        case op_consts: fine = push(values.constant(static_cast<std::uint64_t>(reader.sleb()))); break;
        case op_bregx: fine = push_register(reader.uleb()); break;
        case op_deref: fine = depth >= 1 && values.deref(stack[depth - 1], 8); break;
        case op_deref_size: {
          const auto size = reader.fixed<std::uint8_t>();
          fine = size >= 1 && size <= 8 && depth >= 1 && values.deref(stack[depth - 1], size);
          break;
        }
        case op_dup: fine = pick(0); break;
        case op_drop: fine = depth >= 1 && depth--; break;
        case op_over: fine = pick(1); break;
        case op_pick: fine = pick(reader.fixed<std::uint8_t>()); break;
        case op_swap:
        case op_rot: {
          const unsigned count = op == op_swap ? 2 : 3;
          if ((fine = depth >= count)) std::rotate(stack + depth - count, stack + depth - 1, stack + depth);
          break;
        }
        case op_plus:
          if ((fine = depth >= 2 && values.add(stack[depth - 2], stack[depth - 1]))) --depth;
          break;
        case op_plus_uconst: fine = depth >= 1 && values.add(stack[depth - 1], values.constant(reader.uleb())); break;
        case op_minus: {
          std::uint64_t b;
          fine = depth >= 2 && values.number(stack[depth - 1], b) && values.add(stack[depth - 2], values.constant(-b));
          if (fine) --depth;
          break;
        }
        case op_abs:
        case op_neg:
        case op_not: {
          std::uint64_t a;
          if ((fine = depth >= 1 && values.number(stack[depth - 1], a))) {
            const bool flip = op == op_neg || (op == op_abs && static_cast<std::int64_t>(a) < 0);
            stack[depth - 1] = values.constant(op == op_not ? ~a : flip ? -a : a);
          }
          break;
        }
        case op_and: fine = binary([](auto a, auto b) { return a & b; }); break;
        case op_or: fine = binary([](auto a, auto b) { return a | b; }); break;
        case op_xor: fine = binary([](auto a, auto b) { return a ^ b; }); break;
        case op_mul: fine = binary([](auto a, auto b) { return a * b; }); break;
        case op_div:
          fine = binary([](auto a, auto b) -> std::uint64_t {
            if (b == 0) return 0;
            if (b == ~std::uint64_t{0}) return -a;
            return static_cast<std::uint64_t>(static_cast<std::int64_t>(a) / static_cast<std::int64_t>(b));
          });
          break;
        case op_mod: fine = binary([](auto a, auto b) { return b ? a % b : 0; }); break;
        case op_shl: fine = binary([](auto a, auto b) { return b < 64 ? a << b : 0; }); break;
        case op_shr: fine = binary([](auto a, auto b) { return b < 64 ? a >> b : 0; }); break;
        case op_shra:
          fine =
              binary([](auto a, auto b) { return std::uint64_t(static_cast<std::int64_t>(a) >> (b < 64 ? b : 63)); });
          break;
        case op_eq: fine = compare([](auto a, auto b) { return a == b; }); break;
        case op_ne: fine = compare([](auto a, auto b) { return a != b; }); break;
        case op_ge: fine = compare([](auto a, auto b) { return a >= b; }); break;
        case op_gt: fine = compare([](auto a, auto b) { return a > b; }); break;
        case op_le: fine = compare([](auto a, auto b) { return a <= b; }); break;
        case op_lt: fine = compare([](auto a, auto b) { return a < b; }); break;
        case op_skip: fine = jump(reader.fixed<std::int16_t>()); break;
        case op_bra: {
          const auto distance = reader.fixed<std::int16_t>();
          std::uint64_t condition;
          fine = depth >= 1 && values.number(stack[depth - 1], condition);
          if (fine) --depth;
          if (fine && condition) fine = jump(distance);
          break;
        }
        case op_nop: break;
        default: fine = false; break;
      }
    }
    if (!fine) return false;
  }
  if (!reader.ok() || depth == 0) return false;
  result = stack[depth - 1];
  return true;
}

struct RealValues {
  using Value = std::uintptr_t;
  const MachineState& state;
  StackMemory& memory;

  Value constant(std::uint64_t v) const { return v; }
  bool number(Value v, std::uint64_t& result) const {
    result = v;
    return true;
  }
  bool add(Value& a, Value b) const {
    a += b;
    return true;
  }
  bool breg(std::uint64_t r, std::int64_t offset, Value& v) const {
    if (!state.knows(r)) return false;
    v = state.registers[r] + static_cast<std::uint64_t>(offset);
    return true;
  }
  bool deref(Value& v, unsigned size) {
    std::uintptr_t word;
    if (!memory.load_anywhere(v, word)) return false;
    v = size == 8 ? word : word & ((std::uint64_t{1} << size * 8) - 1);
    return true;
  }
};

struct Formulas {
  using Value = Formula;
  const std::uintptr_t pc;

  static Value constant(std::uint64_t v) { return {Formula::Base::Constant, static_cast<std::int64_t>(v), 0}; }
  static bool number(const Value& v, std::uint64_t& result) {
    result = static_cast<std::uint64_t>(v.offset);
    return v.base == Formula::Base::Constant;
  }
  static bool add(Value& a, const Value& b) {
    if (a.base != Formula::Base::Constant && b.base != Formula::Base::Constant) return false;
    const auto sum =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(a.offset) + static_cast<std::uint64_t>(b.offset));
    if (a.base == Formula::Base::Constant) a = b;
    a.offset = sum;
    return true;
  }
  bool breg(std::uint64_t r, std::int64_t offset, Value& v) const {
    switch (r) {
      case machine::stack_pointer: v = {Formula::Base::Sp, offset, 0}; return true;
      case machine::frame_pointer: v = {Formula::Base::Fp, offset, 0}; return true;
      case machine::return_address: v = constant(pc + static_cast<std::uint64_t>(offset)); return true;
      default: return false;
    }
  }
  static bool deref(Value& v, unsigned size) {
    if (v.base != Formula::Base::Fp || size != 8) return false;
    v = {Formula::Base::WordAtFp, 0, v.offset};
    return true;
  }
};

}  // namespace

bool evaluate(const Expression& expression, const MachineState& state, const std::uintptr_t* initial,
              StackMemory& memory, std::uintptr_t& result) {
  RealValues values{state, memory};
  return run(expression, values, initial, result);
}

bool as_formula(const Expression& expression, std::uintptr_t pc, bool starts_with_cfa, Formula& result) {
  Formulas values{pc};
  const Formula cfa{Formula::Base::Cfa, 0, 0};
  return run(expression, values, starts_with_cfa ? &cfa : nullptr, result);
}

}  // namespace refrain::unwind

/// DWARF expressions by hand: with real values, and as formulas.

#include "unwind/expression.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace refrain::unwind {
namespace {

/// Stack words 10, 20, 30, ... and registers that point at them.
struct Machine {
  std::uintptr_t words[8] = {10, 20, 30, 40, 50, 60, 70, 80};
  MachineState state{};
  platform::StackBounds bounds{reinterpret_cast<std::uintptr_t>(words), reinterpret_cast<std::uintptr_t>(words + 8)};
  StackMemory memory{bounds, bounds.low};
  Machine() {
    state.registers[machine::frame_pointer] = bounds.low + 16;
    state.registers[machine::stack_pointer] = bounds.low;
    state.registers[machine::return_address] = 0x1234b;
    state.registers[10] = 7;
    state.known = 1u << 6 | 1u << 7 | 1u << 10 | 1u << 16;
  }
};

struct Block {
  std::vector<std::uint8_t> bytes;
  Block(std::initializer_list<std::uint8_t> operations) : bytes(operations) {
    bytes.insert(bytes.begin(), static_cast<std::uint8_t>(operations.size()));
  }
  Expression expression() const {
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    return {begin, begin + bytes.size()};
  }
};

TEST(Expression, works_on_registers_and_memory) {
  Machine m;
  std::uintptr_t result = 0;
  EXPECT_TRUE(evaluate(Block{0x76, 0x08, 0x06}.expression(), m.state, nullptr, m.memory, result));  // breg6 8; deref
  EXPECT_EQ(result, 40u);
  EXPECT_TRUE(
      evaluate(Block{0x7a, 0x03, 0x35, 0x1e}.expression(), m.state, nullptr, m.memory, result));  // r10+3, 5, mul
  EXPECT_EQ(result, 50u);
  const std::uintptr_t cfa = 100;
  EXPECT_TRUE(evaluate(Block{0x23, 0x10}.expression(), m.state, &cfa, m.memory, result));  // plus_uconst 16
  EXPECT_EQ(result, 116u);
  EXPECT_TRUE(evaluate(Block{0x31, 0x32, 0x33, 0x17}.expression(), m.state, nullptr, m.memory, result));  // 1 2 3 rot
  EXPECT_EQ(result, 2u);
  // 1; bra +1; lit0 (skipped); lit9
  EXPECT_TRUE(evaluate(Block{0x31, 0x28, 0x01, 0x00, 0x30, 0x39}.expression(), m.state, nullptr, m.memory, result));
  EXPECT_EQ(result, 9u);
}

TEST(Expression, refuses_what_it_cannot_know) {
  Machine m;
  std::uintptr_t result = 0;
  EXPECT_FALSE(evaluate(Block{0x70, 0x00}.expression(), m.state, nullptr, m.memory, result)) << "register 0 is unknown";
  EXPECT_FALSE(evaluate(Block{0x31, 0x06}.expression(), m.state, nullptr, m.memory, result)) << "address 1";
  EXPECT_FALSE(evaluate(Block{0x22}.expression(), m.state, nullptr, m.memory, result)) << "nothing to add";
  EXPECT_FALSE(evaluate(Block{}.expression(), m.state, nullptr, m.memory, result)) << "no result";
  EXPECT_FALSE(evaluate(Block{0x2f, 0xfd, 0xff}.expression(), m.state, nullptr, m.memory, result)) << "endless loop";
  EXPECT_FALSE(evaluate(Block{0x0e, 0x01}.expression(), m.state, nullptr, m.memory, result)) << "cut short";
  EXPECT_FALSE(evaluate(Block{0xff}.expression(), m.state, nullptr, m.memory, result)) << "no such operation";
}

TEST(Expression, linkage_table_stub_is_a_plain_rule) {
  // rsp + 8 + ((rip & 15) >= 11) * 8, the one of every x86-64 linkage table
  const Block block{0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  Formula formula;
  ASSERT_TRUE(as_formula(block.expression(), 0x1234a, false, formula));
  EXPECT_EQ(formula.base, Formula::Base::Sp);
  EXPECT_EQ(formula.offset, 8);
  ASSERT_TRUE(as_formula(block.expression(), 0x1234b, false, formula));
  EXPECT_EQ(formula.offset, 16);
}

TEST(Expression, realigned_stack_is_a_plain_rule) {
  Formula formula;
  ASSERT_TRUE(as_formula(Block{0x76, 0x78, 0x06}.expression(), 0, false, formula));  // breg6 -8; deref
  EXPECT_EQ(formula.base, Formula::Base::WordAtFp);
  EXPECT_EQ(formula.slot, -8);
  EXPECT_EQ(formula.offset, 0);
  ASSERT_TRUE(as_formula(Block{0x76, 0x00}.expression(), 0, true, formula));  // breg6 0
  EXPECT_EQ(formula.base, Formula::Base::Fp);
  EXPECT_FALSE(as_formula(Block{0x77, 0x08, 0x06}.expression(), 0, false, formula)) << "a word at sp is no rule";
  EXPECT_FALSE(as_formula(Block{0x7a, 0x00}.expression(), 0, false, formula)) << "another register is no rule";
}

}  // namespace
}  // namespace refrain::unwind

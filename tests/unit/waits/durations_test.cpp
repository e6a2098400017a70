// Durations of calls by call path and class, in memory that is given.

#include "waits/durations.hpp"

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace refrain::waits {
namespace {

using C = Column;

TEST(Durations, of_calls) {
  Durations of;
  EXPECT_TRUE(of.empty());
  for (const std::int64_t ticks : {100, 300, 50, 190, 1000}) of.add_call(ticks, ticks);
  EXPECT_EQ(5, of[C::Calls]);
  EXPECT_EQ(1640, of[C::Time]);
  EXPECT_EQ(50, of[C::Shortest]);
  EXPECT_EQ(1000, of[C::Longest]);
  // 100, 300 up to four times 100; 50, 190 up to four times 50.
  EXPECT_EQ(4, of[C::ShortCalls]);
  EXPECT_EQ(640, of[C::ShortTime]);
}

TEST(Durations, the_shortest_is_none_in_which_the_clock_was_set_back) {
  Durations of;
  of.add_call(7, 7);
  of.add_call(0, -5);
  EXPECT_EQ(2, of[C::Calls]);
  EXPECT_EQ(7, of[C::Shortest]);
  EXPECT_EQ(1, of[C::ShortCalls]);
}

TEST(Durations, calls_that_become_shorter_bit_by_bit_are_not_all_short) {
  Durations of;
  for (double ticks = 3e6; ticks > 3e5; ticks *= 0.85)
    for (int i = 0; i < 1000; ++i) of.add_call(static_cast<std::int64_t>(ticks), static_cast<std::int64_t>(ticks));
  EXPECT_LE(of[C::ShortTime], of[C::ShortCalls] * Durations::short_limit(of[C::Shortest]));
  EXPECT_GT(of[C::ShortCalls], 0);
}

/// What is taken off for an interruption may be more than it has lasted.
TEST(Durations, an_interrupted_call_is_not_taken_for_short) {
  Durations of;
  of.add_call(0, 900);
  of.add_call(1000, 1000);
  EXPECT_EQ(900, of[C::Shortest]);
  EXPECT_EQ(1000, of[C::Time]);
  EXPECT_EQ(2, of[C::ShortCalls]);
  EXPECT_EQ(1900, of[C::ShortTime]);
}

TEST(Durations, long_calls_that_came_first_are_not_short) {
  Durations of;
  for (int i = 0; i < 50; ++i) of.add_call(1'000'000, 1'000'000);
  for (int i = 0; i < 50; ++i) of.add_call(1000, 1000);
  EXPECT_EQ(50, of[C::ShortCalls]);
  EXPECT_EQ(50'000, of[C::ShortTime]);
}

TEST(Durations, of_groups_of_which_one_has_only_waited) {
  Durations waited, not_waited;
  for (int i = 0; i < 3; ++i) waited.add_call(1'000'000, 1'000'000), not_waited.add_call(1000, 1000);
  Durations one = waited, other = not_waited;
  one.add(not_waited);
  other.add(waited);
  EXPECT_EQ(one.values, other.values);
  EXPECT_EQ(3, one[C::ShortCalls]);
  EXPECT_EQ(3000, one[C::ShortTime]);
}

TEST(Durations, what_moves_much_varies_by_a_quarter) {
  EXPECT_EQ(4000, Durations::short_limit(1000));
  EXPECT_EQ(22'000, Durations::short_limit(10'000));
  EXPECT_EQ(1'250'000, Durations::short_limit(1'000'000));
}

TEST(Durations, of_two_groups_by_their_reductions) {
  Durations a, b, both, none;
  for (const std::int64_t ticks : {10, 20}) a.add_call(ticks, ticks), both.add_call(ticks, ticks);
  for (const std::int64_t ticks : {12, 30}) b.add_call(ticks, ticks), both.add_call(ticks, ticks);
  a.add(none);
  none.add(a);
  EXPECT_EQ(a.values, none.values);
  a.add(b);
  EXPECT_EQ(both.values, a.values);
}

class TableTest : public testing::Test {
 protected:
  std::byte* memory(unsigned bits) {
    const std::size_t bytes = DurationTable::bytes(bits);
    held_.push_back(std::make_unique<std::byte[]>(bytes + 64));
    const auto at = reinterpret_cast<std::uintptr_t>(held_.back().get());
    return held_.back().get() + (64 - at % 64) % 64;
  }
  /// As measurement/ does it.
  void add(std::uint32_t node, CallBin bin, std::int64_t ticks) {
    if (table_.add_usual(node, bin, ticks, ticks) || table_.add(node, bin, ticks, ticks)) return;
    const unsigned bits = table_.bits() == 0 ? 3 : table_.bits() + 1;
    if (entries_ == table_.max_entries()) table_.move_to(memory(bits), bits);
    table_.add_entry(node, bin, ticks, ticks);
    ++entries_;
  }
  DurationTable table_;
  std::size_t entries_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> held_;
};

TEST_F(TableTest, without_memory_nothing_has_an_entry) {
  EXPECT_FALSE(table_.add(1, {}, 1, 1));
  EXPECT_EQ(0u, table_.max_entries());
  EXPECT_TRUE(table_.view().empty());
}

TEST_F(TableTest, a_call_is_usual_when_it_is_neither_the_first_nor_the_shortest_nor_the_longest) {
  table_.move_to(memory(3), 3);
  EXPECT_FALSE(table_.add_usual(1, {}, 0, 0));
  table_.add_entry(1, {}, 10, 10);
  EXPECT_TRUE(table_.add_usual(1, {}, 10, 10));
  EXPECT_FALSE(table_.add_usual(1, {}, 9, 9));
  EXPECT_FALSE(table_.add_usual(1, {}, 11, 11));
  EXPECT_TRUE(table_.add(1, {}, 11, 11));
  EXPECT_TRUE(table_.add_usual(1, {}, 11, 11));
  for (const DurationTable::Entry& entry : table_.view()) EXPECT_EQ(entry.node == 0 ? 0 : 4, entry.durations[C::Calls]);
}

TEST_F(TableTest, a_quarter_stays_free) {
  table_.move_to(memory(3), 3);
  ASSERT_EQ(6u, table_.max_entries());
  for (std::uint32_t node = 1; node <= 6; ++node) table_.add_entry(node, {}, 1, 1);
  EXPECT_FALSE(table_.add(7, {}, 1, 1));
  EXPECT_TRUE(table_.add(6, {}, 1, 1));
}

TEST_F(TableTest, what_is_added_is_there_however_often_it_moves) {
  std::mt19937 random(1);
  std::map<std::pair<std::uint32_t, std::uint16_t>, Durations> expected;
  for (int i = 0; i < 100'000; ++i) {
    const auto node = static_cast<std::uint32_t>(random() % 500 + 1);
    const CallBin bin(
        Transfer{.bytes = std::int64_t{1} << (random() % 3 * 5), .what = random() % 2 * Transfer::receives});
    const auto ticks = static_cast<std::int64_t>(random() % 10'000);
    add(node, bin, ticks);
    expected[{node, bin.code()}].add_call(ticks, ticks);
  }
  std::size_t found = 0;
  for (const DurationTable::Entry& entry : table_.view()) {
    if (entry.node == 0) continue;
    ++found;
    const auto key = std::pair(entry.node, entry.bin.code());
    EXPECT_EQ(expected.at(key).values, entry.durations.values);
  }
  EXPECT_EQ(expected.size(), found);
}

}  // namespace
}  // namespace refrain::waits

// Stretches are counted exactly by the call paths at their ends, and their hash tells what ended them and in which
// order.

#include "measurement/stretches.hpp"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <utility>

namespace refrain::measurement {
namespace {

struct Operation {
  std::uint64_t communicator;
  std::uint16_t region;
  std::uint32_t node;
};

class StretchesTest : public testing::Test {
 protected:
  void SetUp() override { stretches_.begin(); }
  /// It ends `ticks` after the one before.
  events::Record operation(const Operation& o, std::int64_t ticks) {
    stretches_.note_collective(o.communicator);
    EXPECT_TRUE(stretches_.has_collective());
    const platform::Ticks begin = std::exchange(now_, now_ + ticks);
    const events::CallRecord call{true, o.region, o.node, now_ - 1, now_};
    const events::Record r = stretches_.close(call, begin);
    EXPECT_FALSE(stretches_.has_collective());
    EXPECT_EQ(begin, r.begin);
    EXPECT_EQ(now_, r.time);
    return r;
  }
  Stretches stretches_;
  platform::Ticks now_ = 1000;
};

TEST_F(StretchesTest, classes_are_exact_and_what_finds_no_place_is_together) {
  std::mt19937 random(7);
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Key, std::pair<std::uint64_t, std::uint64_t>> truth;
  std::uint32_t opened = events::no_node;
  for (int i = 0; i < 20000; ++i) {
    const std::uint32_t node = i < 10000 ? random() % 10 : random() % 100;
    const std::int64_t ticks = 1 + random() % 1000;
    const events::Record r = operation({5, 7, node}, ticks);
    EXPECT_EQ(i, r.value);
    EXPECT_EQ(std::pair(opened, node), std::pair(r.begun_node, r.node));
    auto& [count, time] = truth[{opened, node}];
    ++count;
    time += static_cast<std::uint64_t>(ticks);
    opened = node;
  }
  EXPECT_EQ(20000u, stretches_.count());
  ASSERT_GT(truth.size(), Stretches::max_groups);
  std::uint64_t known = 0, count = 0, time = 0;
  for (const Stretches::Group& of : stretches_.groups()) {
    count += of.count;
    time += of.time;
    if (of.count == 0 || of.closed == events::no_node) continue;
    ++known;
    EXPECT_EQ((truth[{of.opened, of.closed}]), std::pair(of.count, of.time));
  }
  EXPECT_EQ(Stretches::max_groups, known);
  EXPECT_EQ(20000u, count);
  EXPECT_EQ(static_cast<std::uint64_t>(now_ - 1000), time);
}

TEST_F(StretchesTest, the_hash_tells_operations_communicators_and_order) {
  const Operation a{5, 7, 1}, b{6, 7, 1}, c{5, 8, 1};
  std::map<std::uint64_t, int> hashes;
  for (const auto& [first, second] : {std::pair(a, b), {b, a}, {a, a}, {a, c}, {c, a}, {b, b}}) {
    stretches_ = Stretches{};
    stretches_.begin();
    operation(first, 1);
    ++hashes[operation(second, 1).request];
    EXPECT_EQ(1u, hashes.count(stretches_.hash()));
  }
  EXPECT_EQ(6u, hashes.size());
  // Neither the call path nor the time takes part.
  const auto hash_of = [&](std::uint32_t node, std::int64_t ticks) {
    stretches_ = Stretches{};
    stretches_.begin();
    return operation({5, 7, node}, ticks).request;
  };
  EXPECT_EQ(hash_of(1, 10), hash_of(2, 20));
}

TEST_F(StretchesTest, there_are_none_before_the_begin_and_after_the_end) {
  Stretches none;
  none.note_collective(5);
  EXPECT_FALSE(none.has_collective());
  stretches_.end();
  stretches_.note_collective(5);
  EXPECT_FALSE(stretches_.has_collective());
}

}  // namespace
}  // namespace refrain::measurement

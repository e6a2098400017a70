#include "platform/clock.hpp"

#include <gtest/gtest.h>

namespace refrain::platform {
namespace {

constexpr std::int64_t second = 1'000'000'000;
/// Anchors of a counter of 2.5 GHz.
ClockAnchor anchor(std::int64_t ns, Ticks gained = 0) { return {1000 + ns / 2 * 5 + gained, ns}; }

TEST(CounterWatch, allows_for_readings_that_lie_apart) {
  CounterWatch watch(anchor(0));
  EXPECT_TRUE(watch.agrees(anchor(3 * second)));
  for (std::int64_t s = 60; s < 6000; s += 60) EXPECT_TRUE(watch.agrees(anchor(s * second, s * 2'500'000 / 2)));
}

TEST(CounterWatch, sees_a_counter_that_jumps_either_way_once) {
  for (const Ticks jump : {Ticks{2'500'000'000}, Ticks{-2'500'000'000}}) {
    CounterWatch watch(anchor(0));
    EXPECT_TRUE(watch.agrees(anchor(3 * second)));
    EXPECT_TRUE(watch.agrees(anchor(60 * second)));
    EXPECT_FALSE(watch.agrees(anchor(120 * second, jump)));
    EXPECT_TRUE(watch.agrees(anchor(180 * second, jump)));
    EXPECT_TRUE(watch.agrees(anchor(240 * second, jump)));
    EXPECT_FALSE(watch.agrees(anchor(300 * second, 2 * jump)));
  }
}

TEST(CounterWatch, sees_a_counter_of_another_rate) {
  CounterWatch watch(anchor(0));
  EXPECT_TRUE(watch.agrees(anchor(3 * second)));
  ClockAnchor moved = anchor(60 * second);
  moved.ticks += 57 * second / 100;  // 2.51 GHz
  EXPECT_FALSE(watch.agrees(moved));
}

TEST(CounterWatch, knows_nothing_in_the_first_second) {
  CounterWatch watch(anchor(0));
  EXPECT_TRUE(watch.agrees(anchor(second / 2)));
  EXPECT_TRUE(watch.agrees(anchor(second / 2 + 1000, 5'000'000)));
}

TEST(Clock, trusts_the_counter_only_where_the_kernel_goes_by_it) {
  start_clock();
  const ClockAnchor first = read_anchor();
  while (monotonic_ns() < first.monotonic_ns + 50'000'000) {
  }
  const double rate = ticks_per_second(first, read_anchor());
  if (counter_is_trusted) EXPECT_GT(rate, 1e8);
  else EXPECT_NEAR(rate, 1e9, 1e6);
}

}  // namespace
}  // namespace refrain::platform

#include "offline/run/loops.hpp"

#include <gtest/gtest.h>

namespace refrain::run {
namespace {

TEST(Loops, tell_their_slowest_iterations_in_seconds) {
  experiment::Rank rank;
  rank.ticks_per_second = 3e9;
  experiment::Loop loop;
  EXPECT_TRUE(slowest_iterations(loop, rank).empty());
  loop.slowest = {{7, 3'000'000'000}, {2, 1'500'000'000}};
  const auto slowest = slowest_iterations(loop, rank);
  ASSERT_EQ(slowest.size(), 2U);
  EXPECT_EQ(slowest[0].number, 7);
  EXPECT_DOUBLE_EQ(slowest[0].wall_s, 1);
  EXPECT_EQ(slowest[1].number, 2);
  EXPECT_DOUBLE_EQ(slowest[1].wall_s, 0.5);
}

}  // namespace
}  // namespace refrain::run

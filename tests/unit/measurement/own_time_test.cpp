#include "measurement/own_time.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <unistd.h>

#include "measurement/locations.hpp"
#include "platform/clock.hpp"

namespace refrain::measurement {
namespace {

using platform::Ticks;

constexpr std::size_t call = static_cast<std::size_t>(OwnTime::Call);
constexpr std::size_t mark = static_cast<std::size_t>(OwnTime::Mark);

/// A location of the calling thread.
struct OwnTimeTest : testing::Test {
  void SetUp() override {
    platform::start_clock();
    location = make_detached_location({.memory = std::size_t{4} << 20, .callpath_depth = 64});
    ASSERT_TRUE(location && enter_location(*location));
  }
  void TearDown() override {
    set_own_location(nullptr);
    free_detached_location(location);
  }
  /// A call of which `before` and `after` lie outside of MPI, if it is one that is timed.
  bool one_call(Ticks before, Ticks after) {
    if (--location->calls_to_timing > 0) return false;
    begin_timed_call(*location, platform::now());
    location->call.begin = location->call_timing.begin.at + before;
    end_timed_call(*location, 1000, 1000 + after);
    return true;
  }
  Location* location = nullptr;
};

TEST_F(OwnTimeTest, the_first_calls_are_timed_each_and_then_one_of_every_block) {
  for (int i = 0; i < calls_timed_each; ++i) ASSERT_TRUE(one_call(10, 5)) << i;
  int places[calls_per_timing] = {};
  for (int block = 0; block < 2000; ++block) {
    int timed = 0;
    for (int i = 0; i < calls_per_timing; ++i)
      if (one_call(100, 50)) ++timed, ++places[i];
    ASSERT_EQ(timed, 1) << "block " << block;
  }
  for (const int count : places) EXPECT_GT(count, 0) << "every place has its turn (fails once in 10^26 runs)";
}

TEST_F(OwnTimeTest, the_mean_weighs_what_a_timing_stands_for) {
  OwnTimes times;
  times.each = 64, times.each_sum = 64 * 1000;
  times.sampled = 10, times.sampled_sum = 10 * 100;
  times.sampled_squares = 5 * 90.0 * 90 + 5 * 110.0 * 110;
  const OwnTimeMean mean = mean_of(times);
  const double calls = 64 + 10 * 32;
  EXPECT_EQ(mean.timed, 74);
  EXPECT_NEAR(mean.mean, (64'000 + 32'000) / calls, 1e-9);
  EXPECT_NEAR(mean.error, 32 * std::sqrt(10 * (10 * 100.0 / 9)) / calls, 1e-9);
  EXPECT_EQ(mean_of({}).timed, 0);
}

TEST_F(OwnTimeTest, waiting_is_not_charged) {
  for (int i = 0; i < 100; ++i) {
    const OwnTimeBegin begin = begin_own_time(*location);
    const TimedOwnWork timed(*location, OwnTime::Mark, begin);
  }
  ASSERT_GT(location->own_times[mark].each, 50);
  const Ticks before = location->unit.own;
  const Ticks begin_of_sleep = platform::now();
  {
    const OwnTimeBegin begin = begin_own_time(*location);
    const TimedOwnWork timed(*location, OwnTime::Mark, begin);
    usleep(20'000);
  }
  EXPECT_LT(location->unit.own - before, (platform::now() - begin_of_sleep) / 20);
}

TEST_F(OwnTimeTest, nothing_is_charged_twice) {
  ASSERT_LE(location->calls_to_timing, 1);
  location->calls_to_timing = 0;
  begin_timed_call(*location, platform::now());
  const Ticks begin_of_call = location->call_timing.begin.at;
  charge_longer_work(*location, 700, 5000);
  EXPECT_EQ(location->unit.own, 700);
  location->call.begin = begin_of_call + 6000;
  end_timed_call(*location, 0, 0);
  if (location->own_times[call].each == 1) {  // else the thread was interrupted
    EXPECT_EQ(location->own_times[call].each_sum, 1000);
  }
}

TEST_F(OwnTimeTest, a_call_that_is_not_measured_leaves_the_one_outside_of_it_timed) {
  location->calls_to_timing = 1;
  ASSERT_LE(--location->calls_to_timing, 0);
  begin_timed_call(*location, platform::now());
  const Ticks begin = location->call_timing.begin.at;
  for (int inner = 0; inner < 3; ++inner) {
    if (--location->calls_to_timing <= 0) begin_timed_call(*location, platform::now());
    take_back_timing(*location);
  }
  EXPECT_EQ(location->call_timing.begin.at, begin);
  EXPECT_EQ(location->calls_to_timing, 0);
}

}  // namespace
}  // namespace refrain::measurement

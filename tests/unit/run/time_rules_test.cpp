#include "offline/run/time_rules.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "tests/unit/run/unit_rows.hpp"

namespace refrain::run {
namespace {

using experiment::CallPath;
using experiment::Unit;
using experiment::test::add_function;
using experiment::test::add_region;
using format::NodeKind;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();

/// Root, one MPI region, three functions.
const std::vector<CallPath> paths = {{0, NodeKind::Root, -1, 0},
                                     {0, NodeKind::Region, -1, 0},
                                     {0, NodeKind::Function, 0, 0x10},
                                     {0, NodeKind::Function, 0, 0x20},
                                     {0, NodeKind::Function, 0, 0x30}};

__int128 sum_of_user(const UnitTimes& times) {
  __int128 sum = static_cast<__int128>(times.not_on_cpu) + times.no_sample + times.no_path;
  for (const auto& path : times.user_paths) sum += path.ticks;
  return sum;
}
__int128 sum_of_mpi(const UnitTimes& times) {
  __int128 sum = times.mpi_no_path;
  for (const auto& path : times.mpi_paths) sum += path.ticks;
  return sum;
}

void expect_exact(const UnitTimes& times) {
  ASSERT_TRUE(static_cast<__int128>(times.mpi) + times.refrain + times.user == times.wall);
  ASSERT_TRUE(sum_of_user(times) == times.user);
  ASSERT_TRUE(sum_of_mpi(times) == times.mpi);
  for (const std::int64_t part : {times.wall, times.mpi, times.refrain, times.user, times.not_on_cpu, times.no_sample,
                                  times.no_path, times.mpi_no_path, times.not_on_cpu_low})
    ASSERT_GE(part, 0);
  for (const auto& path : times.user_paths) ASSERT_GE(path.ticks, 0);
  for (const auto& path : times.mpi_paths) ASSERT_GE(path.ticks, 0);
  ASSERT_TRUE(times.waited + times.blocked == 0 || times.waited + times.blocked == times.not_on_cpu);
  ASSERT_GE(std::min(times.waited, times.blocked), 0);
  ASSERT_LE(times.not_on_cpu_low, times.not_on_cpu);
  ASSERT_LE(times.not_on_cpu, times.not_on_cpu_high);
  ASSERT_LE(times.not_on_cpu_high, times.user);
}

TEST(TimeRules, a_worked_example_comes_out_as_by_hand) {
  // 2 ticks per ns. Wall 1000 ns, MPI 200 ns, own work 7 ticks, 10 calls of 3 and 5 ticks of the timer of 4 each.
  Unit unit;
  unit.wall = 2000;
  unit.mpi = 400;
  unit.cpu_ns = 700;
  unit.own = 7;
  unit.mpi_calls = 10;
  unit.ticks_user = 3;
  unit.ticks_mpi = 1;
  unit.ticks_lost = 1;
  unit.weight_user_ns = 600;
  unit.weight_mpi_ns = 100;
  add_region(unit, 1, 10, 400);
  add_function(unit, 2, 1, 200);
  add_function(unit, 3, 2, 400);
  const UnitTimes times = apply_time_rules(unit, paths, {3, 4, 2e9});
  EXPECT_EQ(times.refrain, 57);
  EXPECT_EQ(times.user, 1543);
  // 1543 - (1400 - 57) * 600/700 = 392, within [max(0, 2000 - 1400 - 400), min(1543, 600)] = [200, 600]
  EXPECT_EQ(times.not_on_cpu, 392);
  EXPECT_EQ(times.not_on_cpu_low, 200);
  EXPECT_EQ(times.not_on_cpu_high, 600);
  EXPECT_EQ(times.cpu, 1400);
  ASSERT_EQ(times.user_paths.size(), 2u);
  EXPECT_EQ(times.user_paths[0].ticks, 384);
  EXPECT_EQ(times.user_paths[1].ticks, 767);
  ASSERT_EQ(times.mpi_paths.size(), 1u);
  EXPECT_EQ(times.mpi_paths[0].ticks, 400);
  expect_exact(times);
}

TEST(TimeRules, sleeping_programs_are_not_on_the_cpu) {
  Unit unit;
  unit.wall = 1'000'000;
  unit.cpu_ns = 100'000;
  unit.ticks_user = 1;
  unit.weight_user_ns = 90'000;
  add_function(unit, 2, 1, 90'000);
  const UnitTimes times = apply_time_rules(unit, paths, {0, 0, 1e9});
  EXPECT_EQ(times.not_on_cpu, 900'000);
  EXPECT_EQ(times.user_paths[0].ticks, 100'000);
}

TEST(TimeRules, own_work_is_no_cpu_time_of_user_code) {
  // User code ran for 50 and was absent for 50, MPI and own work ran for 100 each.
  Unit unit;
  unit.wall = 300;
  unit.mpi = unit.own = 100;
  unit.cpu_ns = 250;
  unit.ticks_user = 1;
  unit.ticks_mpi = 2;
  unit.weight_user_ns = 50;
  unit.weight_mpi_ns = 100;
  add_region(unit, 1, 1, 100);
  add_function(unit, 2, 1, 50);
  const UnitTimes times = apply_time_rules(unit, paths, {0, 0, 1e9});
  EXPECT_EQ(times.refrain, 100);
  EXPECT_EQ(times.not_on_cpu, 50);
  EXPECT_EQ(times.user_paths[0].ticks, 50);
}

TEST(TimeRules, a_location_is_charged_with_what_its_own_calls_have_cost) {
  experiment::Rank rank;
  rank.call_cost.median = 50;
  rank.tick_cost.median = 5000;
  experiment::Location cold, short_one;
  cold.own_times[static_cast<std::size_t>(format::OwnTime::Call)] = {100, 2000.5, 30};
  EXPECT_EQ(constants_of(rank, cold).call_cost, 2000.5);
  EXPECT_EQ(constants_of(rank, cold).tick_cost, 5000);
  EXPECT_EQ(constants_of(rank, short_one).call_cost, 50);
}

TEST(TimeRules, mpi_that_sleeps_is_not_the_users_absence) {
  // MPI blocked for 600 without CPU: user code was on the CPU all its 400.
  Unit unit;
  unit.wall = 1000;
  unit.mpi = 600;
  unit.cpu_ns = 400;
  unit.ticks_user = 4;
  unit.weight_user_ns = 400;
  add_region(unit, 1, 1, 600);
  add_function(unit, 2, 4, 400);
  const UnitTimes times = apply_time_rules(unit, paths, {0, 0, 1e9});
  EXPECT_EQ(times.not_on_cpu, 0);
  EXPECT_EQ(times.not_on_cpu_high, 400);
  EXPECT_EQ(times.user_paths[0].ticks, 400);
}

/// User code of 700 ns: on the CPU for 300, off it for 400, of which it was ready for 150.
Unit counted_unit() {
  Unit unit;
  unit.wall = 1000;
  unit.mpi = 300;
  unit.cpu_ns = 500;
  unit.off_mpi_ns = 100;
  unit.waited_ns = 150;
  unit.ticks_mpi = 1;
  unit.weight_mpi_ns = 500;  // would say that all CPU time was in MPI
  add_region(unit, 1, 3, 300);
  return unit;
}

TEST(TimeRules, time_off_the_cpu_that_was_counted_is_no_matter_of_samples) {
  const UnitTimes times = apply_time_rules(counted_unit(), paths, {0, 0, 1e9, true, true});
  EXPECT_EQ(times.not_on_cpu, 400);
  EXPECT_EQ(times.not_on_cpu_low, 400);
  EXPECT_EQ(times.not_on_cpu_high, 400);
  EXPECT_EQ(times.waited, 150);
  EXPECT_EQ(times.blocked, 250);
  EXPECT_EQ(times.no_sample, 300);
  expect_exact(times);
  const UnitTimes together = apply_time_rules(counted_unit(), paths, {0, 0, 1e9, true, false});
  EXPECT_EQ(together.not_on_cpu, 400);
  EXPECT_EQ(together.waited + together.blocked, 0) << "a kernel that does not tell them apart";
}

TEST(TimeRules, clocks_that_do_not_agree_make_no_time_of_nothing) {
  Unit unit = counted_unit();
  unit.cpu_ns = 800;
  unit.off_mpi_ns = 210;  // read a little later than the CPU clock
  UnitTimes times = apply_time_rules(unit, paths, {0, 0, 1e9, true, true});
  EXPECT_EQ(times.not_on_cpu, 0);
  EXPECT_EQ(times.waited + times.blocked, 0);
  unit = counted_unit();
  unit.off_mpi_ns = 510;  // of a call that was charged for less
  times = apply_time_rules(unit, paths, {0, 0, 1e9, true, true});
  EXPECT_EQ(times.not_on_cpu, 200) << "no call is off the CPU for longer than it lasts";
  unit = counted_unit();
  unit.waited_ns = 410;
  times = apply_time_rules(unit, paths, {0, 0, 1e9, true, true});
  EXPECT_EQ(times.waited, 400);
  EXPECT_EQ(times.blocked, 0);
  unit = counted_unit();
  unit.off_mpi_ns = unit.waited_ns = -5;
  times = apply_time_rules(unit, paths, {0, 0, 1e9, true, true});
  EXPECT_EQ(times.not_on_cpu, 500);
  EXPECT_EQ(times.waited, 0);
  expect_exact(times);
}

TEST(TimeRules, no_tick_means_no_sample) {
  Unit unit;
  unit.wall = 1000;
  unit.mpi = 300;
  unit.cpu_ns = 1000;
  unit.weight_mpi_ns = 300;
  unit.ticks_mpi = 1;
  add_region(unit, 1, 3, 300);
  const UnitTimes times = apply_time_rules(unit, paths, {0, 0, 1e9});
  EXPECT_EQ(times.no_sample, 700);  // clamped: no more than wall - cpu was off the CPU
  EXPECT_EQ(times.not_on_cpu, 0);
  expect_exact(times);
}

TEST(TimeRules, weight_without_a_path_is_kept_apart) {
  Unit unit;
  unit.wall = 1000;
  unit.cpu_ns = 1000;
  unit.ticks_user = 2;
  unit.weight_user_ns = 1000;
  add_function(unit, 2, 1, 250);
  const UnitTimes times = apply_time_rules(unit, paths, {0, 0, 1e9});
  EXPECT_EQ(times.user_paths[0].ticks, 250);
  EXPECT_EQ(times.no_path, 750);
}

TEST(TimeRules, ticks_that_end_at_a_pseudo_path_keep_their_time) {
  std::vector<CallPath> with_special = paths;
  with_special.push_back({0, NodeKind::Special, -1, static_cast<std::uint64_t>(format::SpecialPath::ArenaFull)});
  Unit unit;
  unit.wall = unit.cpu_ns = 1000;
  unit.ticks_user = 2;
  unit.weight_user_ns = 1000;
  add_function(unit, 2, 1, 250);
  add_function(unit, 5, 1, 750);
  const UnitTimes times = apply_time_rules(unit, with_special, {0, 0, 1e9});
  ASSERT_EQ(times.user_paths.size(), 2u);
  EXPECT_EQ(times.user_paths[1].ticks, 750);
}

TEST(TimeRules, overhead_never_exceeds_what_mpi_leaves) {
  Unit unit;
  unit.wall = 100;
  unit.mpi = 90;
  unit.mpi_calls = 1000;
  add_region(unit, 1, 1000, 90);
  const UnitTimes times = apply_time_rules(unit, paths, {5, 0, 1e9});
  EXPECT_EQ(times.refrain, 10);
  EXPECT_EQ(times.user, 0);
}

TEST(TimeRules, mpi_beyond_the_wall_time_is_cut_in_proportion) {
  std::vector<CallPath> two_regions = paths;
  two_regions.push_back({0, NodeKind::Region, -1, 1});
  Unit unit;
  unit.wall = 100;
  unit.mpi = 400;
  add_region(unit, 1, 1, 300);
  add_region(unit, 5, 1, 100);
  const UnitTimes times = apply_time_rules(unit, two_regions, {0, 0, 1e9});
  EXPECT_EQ(times.mpi, 100);
  EXPECT_EQ(times.mpi_paths[0].ticks, 75);
  EXPECT_EQ(times.mpi_paths[1].ticks, 25);
}

TEST(TimeRules, sums_are_exact_for_any_input) {
  std::mt19937_64 random(20090611);
  const std::int64_t extremes[] = {0, 1, 2, 999, 1'000'000'007, largest, largest - 1, -1, smallest, 1ll << 53};
  const auto any = [&] {
    switch (random() % 4) {
      case 0: return extremes[random() % std::size(extremes)];
      case 1: return static_cast<std::int64_t>(random());
      case 2: return static_cast<std::int64_t>(random() % 1000);
      default: return static_cast<std::int64_t>(random() % 100'000'000'000);
    }
  };
  const double costs[] = {0, 0.3, 123.4, 1e30, -5, std::nan(""), INFINITY};
  const double rates[] = {1e9, 2.4e9, 1, 1e-3, 1e18};
  for (int i = 0; i < 200'000; ++i) {
    Unit unit;
    unit.wall = any(), unit.mpi = any(), unit.cpu_ns = any(), unit.mpi_calls = any(), unit.own = any();
    unit.ticks_user = any(), unit.ticks_mpi = any(), unit.ticks_lost = any();
    unit.weight_user_ns = any(), unit.weight_mpi_ns = any();
    if (random() % 4)
      unit.mpi = unit.wall > 0 ? static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(unit.wall)) : 0;
    if (random() % 2) add_region(unit, 1, any(), random() % 2 ? unit.mpi : any());
    for (std::uint32_t path = 2; path < 5; ++path)
      if (random() % 3) add_function(unit, path, any(), any());
    const RankConstants constants{costs[random() % std::size(costs)], costs[random() % std::size(costs)],
                                  rates[random() % std::size(rates)]};
    expect_exact(apply_time_rules(unit, paths, constants));
    if (HasFatalFailure()) FAIL() << "input number " << i;
  }
}

TEST(NearestTicks, rounds_as_the_quotient_in_128_bits_does) {
  using namespace format::time_rules;
  constexpr Wide second = Wide{1'000'000'000} << bits_of_rate;
  std::mt19937_64 random(20);
  const auto check = [&](std::int64_t ns, std::int64_t rate) {
    ASSERT_TRUE(nearest_ticks(ns, rate) == nearest(Wide{ns} * rate, second)) << ns << " ns at " << rate;
  };
  for (int i = 0; i < 200'000; ++i)  // of all sizes
    check(static_cast<std::int64_t>(random() >> (1 + random() % 62)),
          static_cast<std::int64_t>(random() >> (1 + random() % 62)));
  // Odd multiples of half a tick, and values just beside them.
  for (std::int64_t odd = 1; odd < 20'000; odd += 2)
    for (const std::int64_t by : {-1, 0, 1}) check(1'953'125 * odd, (std::int64_t{1} << (8 + bits_of_rate)) + by);
}

TEST(LargestRemainder, is_within_one_of_the_exact_share_and_adds_up) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 10'000; ++i) {
    std::vector<std::int64_t> weights(1 + random() % 20);
    std::int64_t sum = 0;
    for (auto& weight : weights) sum += weight = static_cast<std::int64_t>(random() % 1000);
    if (sum == 0) continue;
    const auto total = static_cast<std::int64_t>(random() % 100'000);
    const auto shares = share_by_largest_remainder(total, weights);
    std::int64_t shared = 0;
    for (std::size_t j = 0; j < shares.size(); ++j) {
      shared += shares[j];
      ASSERT_LT(std::abs(static_cast<double>(shares[j]) - static_cast<double>(total) * weights[j] / sum), 1);
    }
    ASSERT_EQ(shared, total);
  }
}

TEST(LargestRemainder, rounds_the_largest_remainder_up_first) {
  EXPECT_EQ(share_by_largest_remainder(10, std::vector<std::int64_t>{1, 1, 1}), (std::vector<std::int64_t>{4, 3, 3}));
  EXPECT_EQ(share_by_largest_remainder(10, std::vector<std::int64_t>{14, 26, 60}),
            (std::vector<std::int64_t>{1, 3, 6}));
}

}  // namespace
}  // namespace refrain::run

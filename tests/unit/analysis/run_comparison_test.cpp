/// Runs without a difference are called slower at the stated rate at most; a difference is found.

#include "offline/analysis/run_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace refrain::analysis {
namespace {

/// Iterations of a run: neighbours are alike, some take much longer, and the run as a whole is off by `run_effect`.
std::vector<double> iterations(std::mt19937_64& random, double mean, double run_effect, int n = 400) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> seconds;
  double drift = 0;
  const double of_run = 1 + run_effect * normal(random);
  for (int i = 0; i < n; ++i) {
    drift = 0.7 * drift + 0.02 * normal(random);
    const double peak = uniform(random) < 0.02 ? 4 * uniform(random) : 0;
    seconds.push_back(mean * of_run * std::max(1 + drift + 0.02 * normal(random) + peak, 0.5));
  }
  return seconds;
}

std::vector<RunSeries> run_of(std::mt19937_64& random, double mean, double run_effect) {
  RunSeries series = series_of_times(iterations(random, mean, run_effect));
  series.loop = "loop";
  return {series};
}

bool is_slower(const std::vector<RunDifference>& all) { return std::ranges::any_of(all, &RunDifference::is_slower); }

/// The seed is fixed, so it is the same each time. More than 30 of 1,000 would be seen once in 10^7 were the rate 1 %.
TEST(RunComparison, false_alarms_are_as_rare_as_it_says) {
  std::mt19937_64 random(7);
  int alarms = 0;
  for (int pair = 0; pair < 1000; ++pair) {
    const std::vector<std::vector<RunSeries>> before{run_of(random, 1e-3, 0)};
    alarms += is_slower(compare_runs(run_of(random, 1e-3, 0), before, {.tolerance = 0}));
  }
  EXPECT_LE(alarms, 30);
}

TEST(RunComparison, what_differs_from_run_to_run_is_learned_from_several_runs) {
  std::mt19937_64 random(8);
  int alarms = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<std::vector<RunSeries>> before;
    for (int run = 0; run < 4; ++run) before.push_back(run_of(random, 1e-3, 0.05));
    alarms += is_slower(compare_runs(run_of(random, 1e-3, 0.05), before, {.tolerance = 0}));
  }
  EXPECT_LE(alarms, 30);
}

/// Of 100 trials, each with so many runs to compare with.
int trials_in_which_it_is_slower(std::mt19937_64& random, double by, int runs, double run_effect) {
  int found = 0;
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<std::vector<RunSeries>> before;
    for (int run = 0; run < runs; ++run) before.push_back(run_of(random, 1e-3, run_effect));
    found += is_slower(compare_runs(run_of(random, (1 + by) * 1e-3, run_effect), before));
  }
  return found;
}

TEST(RunComparison, what_is_slower_is_found) {
  std::mt19937_64 random(9);
  EXPECT_GE(trials_in_which_it_is_slower(random, 0.06, 1, 0), 90);
  EXPECT_GE(trials_in_which_it_is_slower(random, 0.05, 8, 0.005), 90);
}

TEST(RunComparison, less_than_is_tolerated_is_no_fault) {
  std::mt19937_64 random(10);
  const std::vector<std::vector<RunSeries>> before{run_of(random, 1e-3, 0)};
  const auto all = compare_runs(run_of(random, 1.05e-3, 0), before, {.tolerance = 0.2});
  ASSERT_EQ(1U, all.size());
  EXPECT_TRUE(all[0].is_significant);
  EXPECT_FALSE(all[0].is_slower);
  EXPECT_LT(all[0].low, 5e-5);
  EXPECT_GT(all[0].high, 4e-5);
}

/// With one run to compare with, runs may differ by all that is tolerated: the rate of false alarms is still the stated
/// one.
TEST(RunComparison, what_differs_by_as_much_as_is_tolerated_is_no_alarm_when_runs_are_few) {
  std::mt19937_64 random(15);
  int alarms = 0;
  for (int pair = 0; pair < 1000; ++pair) {
    const std::vector<std::vector<RunSeries>> before{run_of(random, 1e-3, 0)};
    alarms += is_slower(compare_runs(run_of(random, 1.03e-3, 0), before, {.tolerance = 0.03}));
  }
  EXPECT_LE(alarms, 30);
}

TEST(RunComparison, some_iterations_that_became_slower_are_found_where_several_runs_are_known) {
  std::mt19937_64 random(11);
  std::vector<std::vector<RunSeries>> before;
  for (int run = 0; run < 8; ++run) before.push_back(run_of(random, 1e-3, 0.005));
  auto seconds = iterations(random, 1e-3, 0.005);
  for (std::size_t i = 0; i < seconds.size(); i += 5) seconds[i] *= 4;
  RunSeries now = series_of_times(seconds);
  now.loop = "loop";
  const auto all = compare_runs(std::vector{now}, before);
  const auto slower = std::ranges::find_if(all, &RunDifference::is_slower);
  ASSERT_NE(all.end(), slower);
  EXPECT_TRUE(slower->by_means);
}

TEST(RunComparison, fewer_runs_are_compared_with_by_the_slowest_one) {
  std::mt19937_64 random(12);
  int alarms = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<std::vector<RunSeries>> before;
    for (int run = 0; run < 3; ++run) before.push_back(run_of(random, 1e-3, 0));
    alarms += is_slower(compare_runs(run_of(random, 1e-3, 0), before, {.tolerance = 0}));
  }
  EXPECT_LE(alarms, 30);
}

TEST(RunComparison, a_value_that_is_not_known_is_not_compared) {
  std::mt19937_64 random(13);
  std::vector<RunSeries> now = run_of(random, 1e-3, 0);
  const std::vector<std::vector<RunSeries>> before{now};
  now[0].mean.value = std::nan("");
  EXPECT_TRUE(compare_runs(now, before).empty());
}

TEST(RunComparison, what_is_new_is_not_compared_by_itself) {
  std::mt19937_64 random(14);
  std::vector<RunSeries> now = run_of(random, 1e-3, 0);
  const std::vector<std::vector<RunSeries>> before{now};
  now.push_back(now[0]);
  now[1].path = "new";
  ASSERT_EQ(1U, compare_runs(now, before).size());
}

TEST(RunComparison, of_few_iterations_nothing_is_said) {
  const std::vector<double> few(fewest_iterations - 1, 1.0), enough(fewest_iterations, 1.0);
  EXPECT_EQ(0, series_of_times(few).lower.batches);
  EXPECT_EQ(4, series_of_times(enough).lower.batches);
  const std::vector<RunSeries> now{series_of_times(few)};
  EXPECT_TRUE(compare_runs(now, std::vector<std::vector<RunSeries>>{{series_of_times(enough)}}).empty());
}

}  // namespace
}  // namespace refrain::analysis

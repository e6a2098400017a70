/// What is said of loops whose iterations resemble their neighbours: how often it is said by chance, and how often what
/// is planted is found. Seeds are fixed, so what passes once always passes. FULL_TESTS=1 asks for the stated numbers of
/// loops and pairs; else a tenth of them, with wider limits.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <numbers>
#include <random>

#include "offline/analysis/iteration_shape.hpp"
#include "offline/analysis/run_comparison.hpp"
#include "statistics/statistics.hpp"

namespace refrain::analysis {
namespace {

bool is_full() {
  const char* const full = std::getenv("FULL_TESTS");
  return full && *full == '1';
}

using Random = std::mt19937_64;

double normal(Random& random) { return std::normal_distribution<double>()(random); }

/// Iterations of a mean of 1 whose coefficient of variation is 10 %.
struct Process {
  const char* name;
  double correlation;  ///< of neighbours; 1: a random walk, whose end is 10 % away from its begin
  double jitter = 0;   ///< part of the variance that is white
  double period = 0;   ///< iterations; 0: none
};

constexpr Process independent{"independent", 0}, ar_099{"AR(1), 0.99", 0.99}, ar_0998{"AR(1), 0.998", 0.998},
    walk{"random walk", 1}, periodic{"periodic", 0, 0.2, 57}, jitter_and_wander{"jitter and wander", 0.99, 0.8};
constexpr Process all_processes[] = {independent, ar_099, ar_0998, walk, periodic, jitter_and_wander};

std::vector<double> iterations(Random& random, const Process& of, int count, double mean = 1) {
  constexpr double variation = 0.1;
  std::vector<double> values;
  const double slow = variation * std::sqrt(1 - of.jitter), phase = normal(random),
               innovation = of.correlation < 1 ? slow * std::sqrt(1 - of.correlation * of.correlation)
                                               : slow / std::sqrt(static_cast<double>(count));
  double level = of.correlation < 1 ? slow * normal(random) : 0;
  for (int i = 0; i < count; ++i) {
    level = of.period > 0 ? slow * std::numbers::sqrt2 * std::sin(phase + 2 * std::numbers::pi * i / of.period)
                          : of.correlation * level + innovation * normal(random);
    values.push_back(mean * std::max(1 + level + variation * std::sqrt(of.jitter) * normal(random), 0.1));
  }
  return values;
}

RunSeries run(Random& random, const Process& of, int count, double mean = 1) {
  RunSeries series = series_of_times(iterations(random, of, count, mean));
  series.loop = "loop";
  return series;
}

RunDifference compare(const RunSeries& now, const RunSeries& before, double tolerance) {
  const auto all =
      compare_runs(std::vector{now}, std::vector<std::vector<RunSeries>>{{before}}, {.tolerance = tolerance});
  EXPECT_EQ(1U, all.size());
  return all[0];
}

/// Of pairs of runs.
double part_that_is_slower(const Process& of, int count, int pairs, double by, double tolerance) {
  Random random(1);
  int slower = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    const RunSeries before = run(random, of, count);
    slower += compare(run(random, of, count, 1 + by), before, tolerance).is_slower;
  }
  return static_cast<double>(slower) / pairs;
}

TEST(Autocorrelation, effective_batches_are_those_of_the_process) {
  constexpr double correlation = 0.6;
  constexpr int series = 2000, batches = 20;
  Random random(2);
  double sum = 0, of_independent = 0;
  for (int s = 0; s < series; ++s) {
    for (const double r : {correlation, 0.0}) {
      std::vector<double> values;
      double level = normal(random), mean = 0;
      for (int i = 0; i < batches; ++i) {
        level = r * level + std::sqrt(1 - r * r) * normal(random);
        values.push_back(level);
        mean += level / batches;
      }
      for (double& value : values) value -= mean;
      (r > 0 ? sum : of_independent) += statistics::lag1_correlation(values) / series;
    }
  }
  EXPECT_NEAR(correlation, sum, 0.08);
  EXPECT_LT(of_independent, 0.12);  // what is negative counts as 0
  EXPECT_DOUBLE_EQ(20 * 0.4 / 1.6, statistics::effective_batches(20, 0.6));
}

/// Nominal: 1 %. The correlation is estimated from 20 batches, so the rate is not exact.
TEST(Autocorrelation, equal_runs_raise_false_alarms_at_the_stated_rate) {
  for (const Process& of : all_processes)
    EXPECT_LE(part_that_is_slower(of, 4000, is_full() ? 3000 : 300, 0, 0), is_full() ? 0.024 : 0.035) << of.name;
}

TEST(Autocorrelation, planted_differences_are_found_beyond_the_tolerance) {
  constexpr double tolerance = 0.03;
  EXPECT_GE(part_that_is_slower(independent, 400, is_full() ? 2000 : 300, 0.08, tolerance), 0.95);
  EXPECT_GE(part_that_is_slower(jitter_and_wander, 4000, is_full() ? 2000 : 300, 0.1, tolerance), 0.8);
}

/// The interval of runs that wander has to be wide: 3 % can be told of neither of them.
TEST(Autocorrelation, what_the_errors_do_not_carry_cannot_be_told) {
  Random random(3);
  int untold = 0;
  constexpr int pairs = 100;
  for (int pair = 0; pair < pairs; ++pair) {
    const RunSeries before = run(random, walk, 400);
    untold += compare(run(random, walk, 400), before, 0.03).cannot_be_told;
  }
  EXPECT_GE(untold, 70);  // of others the difference is far below 0
  int told = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    const RunSeries before = run(random, independent, 4000);
    told += !compare(run(random, independent, 4000), before, 0.03).cannot_be_told;
  }
  EXPECT_EQ(pairs, told);
}

/// A step that both runs have at the same place is no error of their difference.
TEST(Autocorrelation, runs_with_the_same_steps_are_compared_batch_by_batch) {
  Random random(4);
  const auto with_step = [&](double mean) {
    auto values = iterations(random, independent, 4000, mean);
    for (std::size_t i = values.size() / 2; i < values.size(); ++i) values[i] *= 2;
    return series_of_times(values);
  };
  const RunSeries before = with_step(1), now = with_step(1.03);
  const BatchValue difference = difference_of_means(before, now);
  EXPECT_NEAR(0.045, difference.value, 0.02);
  EXPECT_GT(difference.value, 4 * difference.error);
  EXPECT_GT(before.mean.error, 10 * difference.error);
  RunSeries longer = now;
  longer.iterations += 1;
  EXPECT_GT(difference_of_means(before, longer).error, before.mean.error);
}

TEST(Autocorrelation, errors_of_other_origin_have_their_own_degrees_of_freedom) {
  BatchValue value{.value = 1, .batches = 20, .variance = 45, .correlation = 0.6};  // as 5 independent ones
  value.assess(value.correlation);
  EXPECT_DOUBLE_EQ(3, value.error);
  value.add_error(4);
  EXPECT_DOUBLE_EQ(5, value.error);
  EXPECT_DOUBLE_EQ(5 * std::pow(25.0 / 9, 2), value.degrees);
}

/// Nominal rate 10^-3, at most twice as many.
TEST(Autocorrelation, chance_makes_steps_at_most_at_twice_the_nominal_rate) {
  constexpr double nominal = 1e-3;
  const int loops = is_full() ? 20'000 : 1'000;
  for (const Process& of : all_processes)
    for (const int count : {60, 400}) {
      Random random(5);
      int steps = 0;
      for (int loop = 0; loop < loops; ++loop) {
        const IterationShape shape = shape_of(iterations(random, of, count), nominal);
        steps += !shape.steps.empty() || shape.stretch;
      }
      EXPECT_LE(steps, is_full() ? 2 * nominal * loops : 8 * nominal * loops) << of.name << " " << count;
    }
}

TEST(Autocorrelation, a_random_walk_wanders_and_does_not_grow) {
  Random random(6);
  int changes = 0, wander = 0;
  const int loops = is_full() ? 20'000 : 1'000;
  for (int loop = 0; loop < loops; ++loop) {
    auto values = iterations(random, walk, 400);
    for (double& value : values) value = std::max(1 + 3 * (value - 1), 0.1);  // 30 %
    const IterationShape shape = shape_of(values);
    changes += !shape.steps.empty() || shape.stretch || shape.growth;
    wander += shape.wander.has_value();
  }
  EXPECT_LE(changes, loops / 1'000);
  EXPECT_GE(wander, loops * 3 / 4);
}

TEST(Autocorrelation, independent_iterations_do_not_wander) {
  Random random(7);
  for (int loop = 0; loop < 1'000; ++loop) {
    auto values = iterations(random, independent, 400);
    for (double& value : values) value = std::max(1 + 5 * (value - 1), 0.1);
    EXPECT_FALSE(shape_of(values).wander);
  }
}

/// A step of 30 % and growth by 50 %, of iterations that vary by 10 %.
TEST(Autocorrelation, planted_steps_and_growth_are_found) {
  Random random(8);
  int steps = 0, growth = 0;
  constexpr int loops = 50;
  for (int loop = 0; loop < loops; ++loop) {
    auto values = iterations(random, independent, 4000);
    for (std::size_t i = 1333; i < values.size(); ++i) values[i] += 0.3;
    const IterationShape shape = shape_of(values);
    steps += shape.steps.size() == 1 && std::abs(static_cast<double>(shape.steps[0].at) - 1333) < 20;
    auto growing = iterations(random, independent, 4000);
    for (std::size_t i = 0; i < growing.size(); ++i) growing[i] += 0.5 * static_cast<double>(i) / 4000;
    growth += shape_of(growing).growth.has_value();
  }
  EXPECT_EQ(loops, steps);
  EXPECT_GE(growth, loops - 2);
}

}  // namespace
}  // namespace refrain::analysis

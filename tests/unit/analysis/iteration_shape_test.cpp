/// What is planted in iterations is found; what only scatters is not.

#include "offline/analysis/iteration_shape.hpp"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace refrain::analysis {
namespace {

/// With two percent of noise.
IterationShape shape_with(const std::function<double(std::size_t)>& value, std::size_t count = 200) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(value(i) * (1 + 0.02 * normal(random)));
  return shape_of(values);
}

bool has_trend(const IterationShape& shape) { return !shape.steps.empty() || shape.stretch || shape.growth; }

TEST(IterationShape, peaks_and_their_period) {
  const auto shape = shape_with([](std::size_t i) { return i % 10 == 3 ? 3.0 : 1.0; });
  ASSERT_TRUE(shape.peaks);
  EXPECT_EQ(20U, shape.peaks->places.size());
  EXPECT_EQ(3U, shape.peaks->places[0]);
  EXPECT_EQ(10U, shape.peaks->period);
  EXPECT_NEAR(40, shape.peaks->excess, 2);
  EXPECT_NEAR(3, shape.peaks->mean, 0.1);
  EXPECT_FALSE(has_trend(shape));
}

TEST(IterationShape, one_peak_has_no_period) {
  const auto shape = shape_with([](std::size_t i) { return i == 50 ? 10.0 : 1.0; });
  ASSERT_TRUE(shape.peaks);
  EXPECT_EQ(std::vector<std::size_t>{50}, shape.peaks->places);
  EXPECT_EQ(0U, shape.peaks->period);
}

TEST(IterationShape, a_step_is_found_where_it_is) {
  for (const std::size_t at : {20U, 77U, 150U}) {
    const auto shape = shape_with([&](std::size_t i) { return i < at ? 1.0 : 1.3; });
    ASSERT_EQ(1U, shape.steps.size());
    EXPECT_LE(std::abs(static_cast<double>(shape.steps[0].at) - static_cast<double>(at)), 1);
    EXPECT_NEAR(1, shape.steps[0].before, 0.02);
    EXPECT_NEAR(1.3, shape.steps[0].after, 0.02);
    EXPECT_FALSE(shape.peaks || shape.growth || shape.stretch);
  }
}

TEST(IterationShape, growth) {
  const auto shape = shape_with([](std::size_t i) { return 1 + static_cast<double>(i) / 400; });
  ASSERT_TRUE(shape.growth);
  EXPECT_NEAR(1, shape.growth->first, 0.03);
  EXPECT_NEAR(1.5, shape.growth->last, 0.03);
  EXPECT_FALSE(shape.peaks || !shape.steps.empty() || shape.stretch);
}

TEST(IterationShape, growth_on_a_curve) {
  const auto shape = shape_with([](std::size_t i) { return 1 + std::pow(static_cast<double>(i) / 200, 2); });
  ASSERT_TRUE(shape.growth);
  EXPECT_NEAR(1, shape.growth->first, 0.05);
  EXPECT_NEAR(2, shape.growth->last, 0.05);
  EXPECT_NEAR(4.0 / 3, shape.growth->mean, 0.03);
}

TEST(IterationShape, two_steps_are_no_growth) {
  const auto shape = shape_with([](std::size_t i) { return i < 60 ? 8.0 : i < 140 ? 11.0 : 16.0; });
  ASSERT_EQ(2U, shape.steps.size());
  EXPECT_NEAR(60, static_cast<double>(shape.steps[0].at), 1);
  EXPECT_NEAR(140, static_cast<double>(shape.steps[1].at), 1);
  EXPECT_NEAR(11, shape.steps[0].after, 0.2);
  EXPECT_NEAR(11, shape.steps[1].before, 0.2);
  EXPECT_FALSE(shape.peaks || shape.growth || shape.stretch);
}

TEST(IterationShape, a_stretch_has_begin_and_end) {
  for (const std::size_t length : {6U, 12U, 40U, 100U}) {
    const auto shape = shape_with([&](std::size_t i) { return i >= 60 && i < 60 + length ? 1.4 : 1.0; });
    ASSERT_TRUE(shape.stretch) << length;
    EXPECT_NEAR(60, static_cast<double>(shape.stretch->begin), 1);
    EXPECT_NEAR(static_cast<double>(60 + length), static_cast<double>(shape.stretch->end), 1);
    EXPECT_NEAR(1.4, shape.stretch->level, 0.03);
    EXPECT_NEAR(1, shape.stretch->around, 0.02);
    EXPECT_FALSE(shape.peaks || shape.growth || !shape.steps.empty());
  }
}

TEST(IterationShape, a_stretch_of_many_times_the_time_leaves_no_peaks_at_its_ends) {
  const auto shape = shape_with([](std::size_t i) { return i >= 63 && i < 98 ? 5.0 : 1.0; });
  ASSERT_TRUE(shape.stretch);
  EXPECT_NEAR(63, static_cast<double>(shape.stretch->begin), 1);
  EXPECT_NEAR(98, static_cast<double>(shape.stretch->end), 1);
  EXPECT_FALSE(shape.peaks);
}

TEST(IterationShape, slow_waves_are_no_growth) {
  const auto shape = shape_with([](std::size_t i) { return 2 + std::sin(static_cast<double>(i) / 16); });
  EXPECT_FALSE(shape.growth);
}

TEST(IterationShape, steps_and_peaks_together) {
  const auto shape = shape_with([](std::size_t i) { return (i < 77 ? 1.0 : 1.5) * (i % 10 == 0 ? 4 : 1); });
  ASSERT_TRUE(shape.peaks && shape.steps.size() == 1);
  EXPECT_EQ(10U, shape.peaks->period);
  EXPECT_NEAR(77, static_cast<double>(shape.steps[0].at), 1);
}

TEST(IterationShape, iterations_that_are_not_known_are_left_out) {
  const auto shape = shape_with([](std::size_t i) { return i % 3 == 0 ? std::nan("") : i < 100 ? 1.0 : 2.0; });
  ASSERT_EQ(1U, shape.steps.size());
  EXPECT_NEAR(100, static_cast<double>(shape.steps[0].at), 2);
}

/// 5,000 series of neighbours that are alike, with outliers. The seed is fixed.
TEST(IterationShape, chance_makes_no_shapes) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  int found = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    std::vector<double> values;
    double drift = 0;
    for (int i = 0; i < 100; ++i) {
      drift = 0.7 * drift + 0.02 * normal(random);
      values.push_back(1 + drift + 0.02 * normal(random) -
                       (uniform(random) < 0.02 ? 0.1 * std::log(uniform(random)) : 0));
    }
    const auto shape = shape_of(values);
    found += shape.peaks || has_trend(shape);
  }
  EXPECT_LE(found, 2);
}

TEST(IterationShape, of_few_iterations_nothing_is_said) {
  const auto shape = shape_with([](std::size_t i) { return i < 5 ? 1.0 : 9.0; }, least_iterations_of_shape - 1);
  EXPECT_FALSE(shape.peaks || has_trend(shape));
}

}  // namespace
}  // namespace refrain::analysis

// Formulas against printed tables, definitions and what can be counted.
#include "statistics/statistics.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace refrain::statistics {
namespace {

TEST(Values, mean_and_variance_of_a_sample) {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_EQ(5, mean(values));
  EXPECT_DOUBLE_EQ(32.0 / 7, variance(values));
  EXPECT_EQ(0, variance(std::vector<double>{3}));
  EXPECT_EQ(0, mean({}));
}

TEST(Values, a_quantile_is_one_of_the_values) {
  std::vector<double> four{4, 1, 3, 2}, none;
  EXPECT_EQ(3, quantile(four, 0.5));
  EXPECT_EQ(2, quantile(four, 0.25));
  EXPECT_EQ(1, quantile(four, 0));
  EXPECT_EQ(4, quantile(four, 1));
  EXPECT_EQ(0, quantile(none, 0.5));
}

TEST(Values, the_median_of_an_even_number_is_between_two) {
  std::vector<double> four{4, 1, 3, 2}, three{9, 1, 2}, none;
  EXPECT_EQ(2.5, median(four));
  EXPECT_EQ(2, median(three));
  EXPECT_EQ(0, median(none));
}

TEST(Values, tails_are_left_out_on_both_sides) {
  std::vector<double> values{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, one{3};
  EXPECT_EQ(2, range_without_tails(values, 0.1).low);
  EXPECT_EQ(9, range_without_tails(values, 0.1).high);
  EXPECT_EQ(1, range_without_tails(values, 0.05).low);
  EXPECT_EQ(3, range_without_tails(one, 0.4).high);
}

TEST(Values, a_few_that_stand_out_do_not_change_the_robust_deviation) {
  EXPECT_NEAR(1.4826, deviation_by_median({1, 2, 3, 4, 1000}, 3), 1e-12);
}

TEST(Moments, of_groups_are_those_of_all) {
  Moments all, first, second;
  for (const double value : {1.0, 2.0, 6.0}) all.add(value), first.add(value);
  for (const double value : {7.0, 9.0}) all.add(value), second.add(value);
  first += second;
  EXPECT_EQ(5, first.count);
  EXPECT_DOUBLE_EQ(all.mean, first.mean);
  EXPECT_DOUBLE_EQ(all.deviation(), first.deviation());
  EXPECT_DOUBLE_EQ(std::sqrt((16 + 9 + 1 + 4 + 16) / 5.0), all.deviation());
  EXPECT_EQ(0, Moments().deviation());
}

TEST(ErrorOfShare, of_equal_weights_is_the_binomial_one) {
  EXPECT_NEAR(error_of_share(.1, 400, 400), std::sqrt(.09 / 400), 1e-15);
  // One sample of weight 10 among ten of weight 1 leaves (20)^2 / 110 effective samples.
  EXPECT_NEAR(error_of_share(.5, 20, 110), std::sqrt(.25 * 110 / 400), 1e-15);
  EXPECT_EQ(error_of_share(.5, 0, 0), 0);
}

TEST(ErrorOfShare, is_not_0_when_all_of_a_few_samples_hit_one_place) {
  EXPECT_EQ(error_of_share(1, 1, 1), 1);
  EXPECT_EQ(error_of_share(1, 8, 8), .125);
}

TEST(ErrorOfShare, of_samples_is_the_binomial_one) {
  EXPECT_DOUBLE_EQ(0.05, error_of_share(0.5, 100));
  EXPECT_EQ(0, error_of_share(0.5, 0));
}

TEST(Samples, that_are_rare_events_have_the_error_of_their_number) {
  EXPECT_DOUBLE_EQ(0.1, error_of_sampled_time(1, 0.01));  // 100 samples: a tenth
}

TEST(Samples, of_all_there_are_have_no_error) {
  EXPECT_EQ(0, correction_of_sample(1));
  EXPECT_EQ(0, correction_of_sample(1.5));
  EXPECT_DOUBLE_EQ(std::sqrt(0.75), correction_of_sample(0.25));
}

/// Without an observation any share is as likely; the variance of beta(2, 1) is 1 / 18.
TEST(Samples, that_all_say_the_same_leave_a_doubt) {
  EXPECT_DOUBLE_EQ(uniform_deviation(1), deviation_by_succession(0));
  EXPECT_DOUBLE_EQ(std::sqrt(1.0 / 18), deviation_by_succession(1));
}

TEST(Range, of_values_that_are_as_likely) {
  EXPECT_DOUBLE_EQ(std::sqrt(1.0 / 12), uniform_deviation(1));
  EXPECT_DOUBLE_EQ(std::sqrt(1.0 / 3), uniform_deviation_from(0, 0, 1));  // the mean of x squared
  EXPECT_DOUBLE_EQ(2, uniform_deviation_from(5, 3, 3));
}

/// Values of printed tables.
TEST(Student, tables) {
  EXPECT_NEAR(0.025, student_above(12.706, 1), 1e-5);
  EXPECT_NEAR(0.025, student_above(2.228, 10), 1e-5);
  EXPECT_NEAR(0.975, student_above(-2.228, 10), 1e-5);
  EXPECT_NEAR(0.0228, student_above(2, 1e7), 1e-4);
  EXPECT_NEAR(1.812, student_quantile(0.05, 10), 1e-3);
  EXPECT_NEAR(1.960, normal_quantile(0.025), 1e-3);
  EXPECT_NEAR(4.456, half_of_interval(2, 10), 1e-3);
  EXPECT_EQ(0, half_of_interval(0, 10));
}

TEST(Student, values_that_do_not_vary_differ_for_certain) {
  EXPECT_NEAR(0.05, student_beyond(-2.228, 1, 10), 2e-5);
  EXPECT_EQ(0, student_beyond(0.1, 0, 10));
  EXPECT_EQ(1, student_beyond(0, 0, 10));
}

TEST(Tests, degrees_of_freedom_of_a_difference_are_those_of_its_larger_error) {
  EXPECT_DOUBLE_EQ(20, welch_degrees(1, 10, 1, 10));
  EXPECT_NEAR(10, welch_degrees(1, 10, 1e-6, 3), 1e-6);
  EXPECT_EQ(1, welch_degrees(0, 10, 0, 10));
}

/// Holm's example: of three tests 0.01 is compared with 0.05 / 3, 0.02 with 0.05 / 2, 0.06 with 0.05.
TEST(Tests, together_keep_the_rate_of_false_alarms) {
  EXPECT_EQ((std::vector<bool>{false, true, true}), significant(std::vector<double>{0.06, 0.01, 0.02}, 0.05));
  EXPECT_EQ((std::vector<bool>{false, false}), significant(std::vector<double>{0.03, 0.03}, 0.05));
}

/// 40 of 100 where 50 are expected, on either side: G = 2 (40 ln 0.8 + 60 ln 1.2).
TEST(Tests, likelihood_ratios_add_up) {
  EXPECT_NEAR(4.027, 2 * (n_log_ratio(40, 50) + n_log_ratio(60, 50)), 1e-3);
  EXPECT_EQ(0, n_log_ratio(0, 50));
}

}  // namespace
}  // namespace refrain::statistics

#include "offline/run/quantities.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace refrain::run {
namespace {

TEST(Stratum, shares_of_one_are_correlated_and_parts_of_the_whole_are_not_added_as_if_they_were_not) {
  const Stratum stratum{1'000, 100, 100};  // 100 samples of weight 1 divide 1,000
  EXPECT_NEAR(stratum.variance_of(25), 1'000. * 1'000 * .25 * .75 / 100, 1e-6);
  // What two paths have together is one share of 3/4, not two that are independent.
  EXPECT_NEAR(stratum.variance_of(25 + 50), 1'000. * 1'000 * .75 * .25 / 100, 1e-6);
  EXPECT_LT(stratum.variance_of(25 + 50), stratum.variance_of(25) + stratum.variance_of(50));
  EXPECT_EQ(stratum.variance_of(0), 0);
}

TEST(Quantity, has_a_standard_error_unless_bounds_are_all_that_is_known) {
  Quantity of{.value = 42, .variance = 25};
  EXPECT_EQ(of.error(), 5);
  of.above = 1;
  EXPECT_EQ(of.error(), std::nullopt);
  of.above = 0, of.has_error = false;
  EXPECT_EQ(of.error(), std::nullopt);
}

TEST(Integer, holds_the_nanoseconds_of_any_job) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  Integer sum = largest;
  sum += largest;
  EXPECT_TRUE(sum / 2 == largest);
  EXPECT_EQ(narrowed(sum), largest);
  EXPECT_EQ(narrowed(-sum - 10), std::numeric_limits<std::int64_t>::min());
}

constexpr std::uint64_t loop = 17;

TEST(Estimate, of_ranks_that_wait_in_the_same_iterations_err_together) {
  Estimate sum, one;
  one.value = 5;
  one.add_residual(loop, 3, 2);
  EXPECT_EQ(one.error(), 2);
  for (int rank = 0; rank < 32; ++rank) sum += one;
  EXPECT_EQ(sum.value, 160);
  EXPECT_EQ(sum.error(), 64) << "adding variances gives 11.3";
  Estimate other = one;
  for (double& by : other.deviation) by = -by;
  other += one;
  EXPECT_EQ(other.error(), 0) << "what one has more the other has less";
}

TEST(Estimate, of_many_iterations_errs_as_their_number_says) {
  for (const std::uint64_t number : {1, 2, 3, 4, 5}) {
    Estimate sum;
    for (int i = 0; i < 400; ++i) sum.add_residual(number, i, 1);
    EXPECT_GT(sum.error(), 20 * .5);
    EXPECT_LT(sum.error(), 20 * 1.6);
  }
  for (std::size_t r = 0; r < Estimate::replicates; ++r) {
    int balance = 0;
    for (int i = 0; i < 2'000; ++i) balance += sign_of(r, loop, i);
    EXPECT_LT(std::abs(balance), 200) << r;
  }
}

TEST(Estimate, adds_bounds_as_intervals) {
  Estimate sum{.value = 2, .low = 1, .high = 5};
  sum += Estimate{.value = 10, .low = 10, .high = 11};
  EXPECT_EQ(sum.low, 11);
  EXPECT_EQ(sum.high, 16);
}

TEST(Estimate, of_a_ratio_knows_what_both_have_in_common) {
  Estimate part, whole;
  part.value = 10, whole.value = 20;
  for (int i = 0; i < 50; ++i) {
    part.add_residual(loop, i, i % 7 - 3);
    whole.add_residual(loop, i, 2 * (i % 7 - 3));
  }
  ASSERT_GT(part.error(), 0);
  const Estimate ratio = Estimate::of([](double a, double b) { return a / b; }, part, whole);
  EXPECT_EQ(ratio.value, .5);
  EXPECT_NEAR(ratio.error(), 0, 1e-12);
  whole.value = 2'000;
  const Estimate larger = Estimate::of([](double a, double b) { return std::max(a, b); }, part, whole);
  EXPECT_EQ(larger.value, 2'000);
  EXPECT_DOUBLE_EQ(larger.error(), whole.error());
}

}  // namespace
}  // namespace refrain::run

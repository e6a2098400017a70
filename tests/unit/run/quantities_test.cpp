#include "offline/run/quantities.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

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

/// One residual in an iteration.
Replicates one(std::int64_t iteration, double residual_ns) {
  Replicates of;
  of.add(signs_of(loop, iteration), residual_ns);
  return of;
}

TEST(Replicates, of_ranks_that_wait_in_the_same_iterations_err_together) {
  Replicates sum;
  EXPECT_TRUE(sum.empty());
  EXPECT_EQ(one(3, 200).error_ns(), 200);
  for (int rank = 0; rank < 32; ++rank) sum += one(3, 200);
  EXPECT_EQ(sum.error_ns(), 6'400) << "adding variances gives 1,131";
  sum += one(3, -6'400);
  EXPECT_TRUE(sum.empty()) << "what one has more the other has less";
}

TEST(Replicates, add_element_by_element_in_any_order) {
  std::vector<Replicates> all;
  for (int i = 0; i < 50; ++i) all.push_back(one(i, 1'000'003.5 * (i % 7 - 3)));
  Replicates forth, back;
  for (const Replicates& of : all) forth += of;
  for (auto of = all.rbegin(); of != all.rend(); ++of) back += *of;
  EXPECT_EQ(forth, back);
  for (std::size_t r = 0; r < Replicates::count; ++r) {
    std::int64_t sum = 0;
    for (const Replicates& of : all) sum += of.ns[r];
    EXPECT_EQ(forth.ns[r], sum);
  }
  EXPECT_EQ(forth.scaled(-2), back.scaled(-1).scaled(2));
}

TEST(Replicates, of_many_iterations_err_as_their_number_says) {
  for (const std::uint64_t number : {1, 2, 3, 4, 5}) {
    Replicates sum;
    for (int i = 0; i < 400; ++i) sum.add(signs_of(number, i), 100);
    EXPECT_GT(sum.error_ns(), 2'000 * .5);
    EXPECT_LT(sum.error_ns(), 2'000 * 1.6);
  }
  for (std::size_t r = 0; r < Replicates::count; ++r) {
    int balance = 0;
    for (int i = 0; i < 2'000; ++i) balance += (signs_of(loop, i) >> r & 1) != 0 ? 1 : -1;
    EXPECT_LT(std::abs(balance), 200) << r;
  }
}

TEST(Replicates, stay_within_their_integers) {
  Replicates of = one(1, 9e18);
  of += of;
  EXPECT_EQ(of, one(1, 9e18).scaled(2));
  EXPECT_GT(of.error_ns(), 9e18);
}

TEST(Replicates, are_those_of_blocks_of_ranks_beyond_1024) {
  EXPECT_EQ(ranks_in_block(1), 1);
  EXPECT_EQ(ranks_in_block(1'024), 1);
  EXPECT_EQ(ranks_in_block(1'025), 2);
  EXPECT_EQ(ranks_in_block(100'000), 98);
}

TEST(Replicates, of_a_ratio_and_a_maximum_are_evaluated_one_by_one) {
  Estimate part{.seconds = 10}, whole{.seconds = 20};
  for (int i = 0; i < 50; ++i) {
    part.replicates += one(i, 1e8 * (i % 7 - 3));
    whole.replicates += one(i, 2e8 * (i % 7 - 3));
  }
  ASSERT_GT(part.error_s(), 0);
  const double of_ratio =
      error_by_replicates(.5, [&](std::size_t r) { return part.seconds_of(r) / whole.seconds_of(r); });
  EXPECT_NEAR(of_ratio, 0, 1e-12) << "both have the same in common";
  whole.seconds = 2'000;
  const double of_maximum =
      error_by_replicates(2'000, [&](std::size_t r) { return std::max(part.seconds_of(r), whole.seconds_of(r)); });
  EXPECT_NEAR(of_maximum, whole.error_s(), 1e-9);
}

TEST(Estimate, adds_bounds_as_intervals) {
  Estimate sum{.seconds = 2, .below_s = 1, .above_s = 3};
  sum += {.seconds = 10, .below_s = 0, .above_s = 1};
  EXPECT_EQ(sum.seconds, 12);
  EXPECT_EQ(sum.below_s, 1);
  EXPECT_EQ(sum.above_s, 4);
  // Uniform from 11 to 16, from 12.
  EXPECT_NEAR(sum.error_s(), std::sqrt(25 / 12. + 1.5 * 1.5), 1e-12);
  sum.replicates = one(0, 2e9);
  EXPECT_NEAR(sum.error_s(), std::sqrt(25 / 12. + 1.5 * 1.5 + 4), 1e-12);
  EXPECT_LT(sum.limit_error(.5), 1);
  EXPECT_NEAR(sum.error_s(), .5, 1e-6);
}

}  // namespace
}  // namespace refrain::run

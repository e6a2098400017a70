#include "offline/analysis/job_classes.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace refrain::analysis {
namespace {

JobIteration iteration(double wall, double mpi = 0.1) { return {wall, mpi, wall - mpi, 1.1 * wall}; }

TEST(JobClasses, noise_is_one_class) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(1, 0.03);
  std::vector<JobIteration> all;
  for (int i = 0; i < 5000; ++i) all.push_back(iteration(noise(random)));
  EXPECT_EQ(1U, job_classes(all).count);
}

TEST(JobClasses, every_tenth_is_another_class) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(1, 0.02);
  std::vector<JobIteration> all;
  for (int i = 0; i < 1000; ++i) all.push_back(iteration((i % 10 == 9 ? 2 : 1) * noise(random)));
  const JobClasses classes = job_classes(all);
  ASSERT_EQ(2U, classes.count);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(i % 10 == 9 ? 1U : 0U, classes.of[i]) << i;
}

TEST(JobClasses, the_same_wall_time_in_other_ways_is_another_class) {
  std::vector<JobIteration> all;
  for (int i = 0; i < 100; ++i) all.push_back(iteration(1, i < 50 ? 0.1 : 0.6));
  EXPECT_EQ(2U, job_classes(all).count);
}

TEST(JobClasses, at_most_so_many) {
  std::vector<JobIteration> all;
  for (int i = 0; i < 4000; ++i) all.push_back(iteration(std::pow(1.3, i % 40)));
  const JobClasses classes = job_classes(all, 16);
  EXPECT_LE(classes.count, 16U);
  for (const std::uint32_t of : classes.of) EXPECT_LT(of, classes.count);
}

TEST(JobClasses, nothing_known_is_no_class) {
  const std::vector<JobIteration> all(3, JobIteration{NAN, 0, 0, 0});
  EXPECT_EQ(0U, job_classes(all).count);
  EXPECT_EQ(0U, job_classes({}).count);
  EXPECT_EQ(3U, job_classes(all).of.size());
}

TEST(JobClasses, unknown_ones_follow_their_predecessor) {
  std::vector<JobIteration> all(10, iteration(1));
  all[0].wall = all[5].wall = NAN;
  const JobClasses classes = job_classes(all);
  EXPECT_EQ(1U, classes.count);
  EXPECT_EQ(std::vector<std::uint32_t>(10, 0), classes.of);
}

TEST(RunsOfClass, are_told_where_they_hold_nine_tenths) {
  std::vector<std::uint32_t> of(100, 0);
  for (std::size_t i = 20; i < 50; ++i) of[i] = 1;
  of[90] = 1;
  using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ((Runs{{20, 49}, {90, 90}}), runs_of_class(of, 1));
  EXPECT_EQ((Runs{{20, 49}}), runs_of_class(of, 1, 1));
  for (std::size_t i = 0; i < 100; i += 2) of[i] = 2;
  EXPECT_EQ(Runs{}, runs_of_class(of, 2));
}

}  // namespace
}  // namespace refrain::analysis

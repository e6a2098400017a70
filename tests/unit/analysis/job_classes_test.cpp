#include "offline/analysis/job_classes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
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

/// Iterations of `places` by their user time in seconds; the rest of a second is time in MPI.
std::vector<JobIteration> job(std::size_t iterations, std::size_t places,
                              const std::function<double(std::size_t iteration, std::size_t place)>& user_s) {
  std::vector<JobIteration> all(iterations);
  std::vector<PlaceSigns> signs;
  PlaceSigns sum;
  for (std::size_t p = 0; p < places; ++p) sum += signs.emplace_back(p);
  const auto n = static_cast<double>(places);
  for (std::size_t i = 0; i < iterations; ++i) {
    for (std::size_t p = 0; p < places; ++p) {
      const double user = user_s(i, p), wall = std::max(user, 1.0);
      all[i].wall += wall / n;
      all[i].mpi += (wall - user) / n;
      all[i].user += user / n;
      all[i].slowest = std::max(all[i].slowest, wall);
      signs[p].add(wall, wall - user, user, all[i].differences);
    }
    set_differences(all[i], sum, places);
  }
  return all;
}

TEST(JobClasses, places_that_take_turns_are_classes) {
  for (const std::size_t places : {2U, 3U, 16U, 500U}) {
    std::mt19937 random(static_cast<unsigned>(places));
    std::normal_distribution<double> noise(0, 0.02);
    const auto all = job(600, places, [&](std::size_t i, std::size_t p) {
      return ((i % 3 == 0) == (p < places / 2) ? 0.9 : 0.5) + noise(random);
    });
    const JobClasses classes = job_classes(all);
    ASSERT_EQ(2U, classes.count) << places;
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(i % 3 == 0 ? 1U : 0U, classes.of[i]) << i;
  }
}

TEST(JobClasses, turns_of_a_short_run_are_classes_and_those_of_a_few_iterations_are_not_told) {
  const auto turns = [](std::size_t iterations) {
    return job_classes(job(iterations, 4, [](std::size_t i, std::size_t p) { return i % 2 == p % 2 ? 0.9 : 0.5; }));
  };
  EXPECT_EQ(2U, turns(40).count);
  EXPECT_EQ(1U, turns(6).count);
}

TEST(JobClasses, a_few_iterations_at_other_places_are_a_class) {
  std::mt19937 random(11);
  std::normal_distribution<double> noise(0, 0.02);
  const auto all = job(2000, 8, [&](std::size_t i, std::size_t p) {
    return (p == (i % 100 == 99 ? 5 : 2) ? 0.95 : 0.4) + noise(random);
  });
  const JobClasses classes = job_classes(all);
  ASSERT_EQ(2U, classes.count);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(i % 100 == 99 ? 1U : 0U, classes.of[i]) << i;
}

/// Seeds are fixed, so nothing fails by chance. Of 200 other runs of each kind none was divided.
TEST(JobClasses, noise_of_places_is_one_class_also_when_it_lasts) {
  for (const double lasting : {0.0, 0.9, 0.99, 0.999})
    for (const std::size_t places : {2U, 4U, 32U})
      for (unsigned seed = 0; seed < 10; ++seed) {
        std::mt19937 random(seed);
        std::normal_distribution<double> noise(0, 1);
        std::vector<double> now(places);
        for (double& of : now) of = noise(random);
        const auto all = job(1000, places, [&](std::size_t, std::size_t p) {
          now[p] = lasting * now[p] + std::sqrt(1 - lasting * lasting) * noise(random);
          return 0.6 + 0.02 * now[p];
        });
        EXPECT_EQ(1U, job_classes(all).count) << lasting << " " << places << " " << seed;
      }
}

TEST(JobClasses, noise_of_places_hides_no_class_that_means_show) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 0.05);
  const auto all =
      job(1000, 256, [&](std::size_t i, std::size_t) { return (i % 10 == 9 ? 0.7 : 0.5) + noise(random); });
  const JobClasses classes = job_classes(all);
  ASSERT_EQ(2U, classes.count);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(i % 10 == 9 ? 1U : 0U, classes.of[i]) << i;
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

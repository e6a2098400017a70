// Clusters put together for people: hand-made loops of which is known what sets iterations apart.
#include "offline/analysis/cluster_groups.hpp"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

#include "tests/unit/analysis/loop_builder.hpp"
#include "tests/unit/analysis/loop_log.hpp"
#include "tests/unit/analysis/tree_of.hpp"

namespace refrain::analysis {
namespace {

using When = ClusterGroup::When;

/// Of iterations that take so many milliseconds and a percent by chance, each a cluster by itself, or as `cluster`
/// says. The log keeps `whole` of them one by one.
std::vector<ClusterGroup> groups_of(std::size_t count, const std::function<double(std::size_t)>& ms,
                                    const std::function<std::int32_t(std::size_t)>& cluster = nullptr,
                                    std::uint64_t whole = clustering::IterationLog::all) {
  std::mt19937_64 draw(count);
  std::normal_distribution<double> noise(1, 0.01);
  std::vector<test::Iteration> iterations;
  for (std::size_t i = 0; i < count; ++i) {
    const auto wall = static_cast<std::int64_t>(ms(i) * 1e6 * noise(draw));
    iterations.push_back({cluster ? cluster(i) : static_cast<std::int32_t>(i), wall, {}, {}, {20, wall}, {}});
  }
  experiment::Profile profile = test::profile_of(iterations);
  test::add_log(profile.ranks[0].locations[0].loops[0], iterations, whole);
  Symbolizer symbolizer;
  const CallTree tree = build_call_tree(profile, symbolizer, {});
  const run::IterationProfiles profiles(profile, profile.ranks[0], profile.ranks[0].locations[0], 0);
  return group_clusters(profiles, tree);
}

TEST(ClusterGroups, iterations_that_only_scatter_are_one) {
  const auto groups = groups_of(40, [](std::size_t) { return 10.0; });
  ASSERT_EQ(1u, groups.size());
  EXPECT_EQ(40, groups[0].members);
  EXPECT_EQ(When::Always, groups[0].when.kind);
}

TEST(ClusterGroups, a_step_is_two) {
  const auto groups = groups_of(60, [](std::size_t i) { return i < 20 ? 10.0 : 15.0; });
  ASSERT_EQ(2u, groups.size());
  EXPECT_EQ(40, groups[0].members);
  ASSERT_EQ(1u, groups[0].when.blocks.size());
  EXPECT_EQ(20, groups[0].when.blocks[0].first);
  EXPECT_EQ(59, groups[0].when.blocks[0].last);
  EXPECT_NEAR(15e-3, groups[0].mean_wall_s, 1e-4);
}

TEST(ClusterGroups, a_cluster_for_which_there_was_no_room_is_cut) {
  // A few iterations are clusters by themselves, all others are one.
  const auto groups = groups_of(
      500, [](std::size_t i) { return i >= 200 && i < 280 ? 25.0 : 10.0; },
      [](std::size_t i) { return i < 20 ? static_cast<std::int32_t>(i) : 20; });
  ASSERT_EQ(2u, groups.size());
  EXPECT_EQ(420, groups[0].members);
  EXPECT_NEAR(10e-3, groups[0].mean_wall_s, 1e-4);
  EXPECT_EQ(80, groups[1].members);
  EXPECT_NEAR(25e-3, groups[1].mean_wall_s, 2e-4);
  EXPECT_NEAR(80 * 25.0 / (80 * 25 + 420 * 10), groups[1].share, 0.01);
  ASSERT_EQ(1u, groups[1].when.blocks.size());
  EXPECT_EQ(200, groups[1].when.blocks[0].first);
  EXPECT_EQ(279, groups[1].when.blocks[0].last);
  ASSERT_FALSE(groups[1].differences.empty());
  EXPECT_EQ("wall", groups[1].differences[0].metric);
  EXPECT_NEAR(10e-3, groups[1].differences[0].loop_mean, 1e-4);
}

TEST(ClusterGroups, parts_of_a_cluster_have_its_members_whatever_the_log_keeps) {
  // The second cluster has an odd number of iterations. The log keeps so few that an even number has its label.
  const auto groups = groups_of(
      500, [](std::size_t i) { return i >= 200 && i < 280 ? 25.0 : 10.0; },
      [](std::size_t i) { return static_cast<std::int32_t>(i >= 280 && i % 7 == 3); }, 32);
  double members = 0;
  for (const ClusterGroup& of : groups) members += of.members;
  EXPECT_GE(groups.size(), 2U);
  EXPECT_NEAR(500, members, 1e-6);
}

TEST(ClusterGroups, iterations_of_a_long_loop_scatter_more_than_means_of_groups) {
  std::mt19937_64 draw(7);
  std::uniform_real_distribution<double> ms(10, 15);
  const auto is_odd = [](std::size_t i) { return static_cast<std::int32_t>(i % 2); };
  const auto groups = groups_of(
      4000, [&](std::size_t i) { return ms(draw) + is_odd(i); }, is_odd, 256);
  EXPECT_EQ(1U, groups.size());
}

TEST(ClusterGroups, phases_that_take_turns_are_two) {
  const auto groups = groups_of(60, [](std::size_t i) { return i % 2 ? 10.0 : 14.0; });
  ASSERT_EQ(2u, groups.size());
  EXPECT_EQ(30, groups[0].members);
  EXPECT_NEAR(14e-3, groups[0].mean_wall_s, 1e-4);
}

TEST(ClusterGroups, peaks_come_regularly) {
  const auto groups = groups_of(200, [](std::size_t i) { return i % 10 == 3 ? 50.0 : 10.0; });
  ASSERT_EQ(2u, groups.size());
  const ClusterGroup& peaks = groups[0].members < groups[1].members ? groups[0] : groups[1];
  EXPECT_EQ(20, peaks.members);
  EXPECT_EQ(When::Regular, peaks.when.kind);
  EXPECT_EQ(10, peaks.when.period);
  EXPECT_EQ(3, peaks.when.blocks[0].first);
}

TEST(ClusterGroups, a_drift_is_a_few) {
  const auto groups = groups_of(100, [](std::size_t i) { return 10.0 + 0.2 * static_cast<double>(i); });
  EXPECT_GE(groups.size(), 3u);
  EXPECT_LE(groups.size(), 6u);
}

TEST(ClusterGroups, outliers_that_are_nothing_alike_are_told_together) {
  const auto groups = groups_of(
      2000, [](std::size_t i) { return i == 100   ? 30.0
                                       : i == 900 ? 60.0
                                                  : 10.0; },
      [](std::size_t i) { return i == 100   ? 1
                                 : i == 900 ? 2
                                            : 0; });
  ASSERT_EQ(2u, groups.size());
  EXPECT_TRUE(groups[1].is_rest);
  EXPECT_EQ(2, groups[1].members);
}

TEST(ClusterGroups, thousands_of_clusters_take_no_time) {
  EXPECT_LE(
      groups_of(4000, [](std::size_t i) { return 10.0 + std::fmod(static_cast<double>(i) * 0.618, 1) * 20; }).size(),
      6u);
}

}  // namespace
}  // namespace refrain::analysis

// An experiment of Refrain as a run for a database: hand-made loops whose sums are known.
#include "offline/database/native_run.hpp"

#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "format/kept_iterations.hpp"
#include "tests/unit/analysis/loop_log.hpp"

namespace refrain::database {
namespace {

using analysis::test::Iteration;

TEST(NativeRun, mean_times_of_clusters_do_not_depend_on_what_the_log_keeps) {
  constexpr std::uint64_t whole = 16;
  std::vector<Iteration> iterations(200, Iteration{0, 1'000, {1, 100, 1, 8, 0, 0}, {}, {}, {}});
  // The log keeps one of the iterations 80 to 87, and one of 88 to 95.
  const format::KeptIterations kept{3};
  Iteration &is_kept = iterations[kept.in_block(10)], &is_not = iterations[kept.in_block(11) ^ 1];
  is_kept.cluster = 1, is_kept.wall = 10'000'000;
  is_not.cluster = 2, is_not.wall = 20'000'000;
  experiment::Profile profile = analysis::test::profile_of(iterations);
  analysis::test::add_log(profile.ranks[0].locations[0].loops[0], iterations, whole);
  const auto experiment = experiment::Experiment::of({"made-up", {}, profile});
  analysis::Symbolizer symbolizer;
  const analysis::CallTree tree = analysis::build_call_tree(*experiment, symbolizer);
  const std::vector<NodeWaiting> waiting;
  const auto run = native_run(experiment, tree, waiting);

  std::map<std::int64_t, double> means;
  double sum = 0;
  run->for_each_iteration(
      0, [&](const RunCluster& of) { means[of.label] = of.mean_wall_s; },
      [&](const RunIteration& of) { sum += of.wall_s; });
  ASSERT_EQ(means.size(), 3U);
  EXPECT_DOUBLE_EQ(means[0], 1'000e-9);
  EXPECT_DOUBLE_EQ(means[1], 0.01);
  EXPECT_DOUBLE_EQ(means[2], 0.02);
  EXPECT_NEAR(sum, 198 * 1'000e-9 + 0.01 + 0.02, 1e-9);
  EXPECT_TRUE(run->loops_of(0).at(0).has_means);
}

}  // namespace
}  // namespace refrain::database

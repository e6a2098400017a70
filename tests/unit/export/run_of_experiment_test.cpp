/// A hand-made experiment as a run: nothing is lost on the way.

#include "offline/export/run_of_experiment.hpp"

#include <gtest/gtest.h>
#include <set>

#include "offline/export/export_error.hpp"
#include "tests/unit/analysis/loop_builder.hpp"

namespace refrain::exports {
namespace {

using analysis::test::Iteration;

std::shared_ptr<const experiment::Experiment> made() {
  const std::vector<Iteration> iterations{
      {0, 10'000, {2, 3'000, 2, 64, 0, 0}, {}, {20, 5'000}, {}},
      {1, 50'000, {2, 6'000, 2, 64, 0, 0}, {1, 4'000, 0, 0, 0, 0}, {10, 10'000}, {30, 30'000}}};
  experiment::Profile profile = analysis::test::profile_of(iterations);
  profile.ranks[0].host = "red";
  experiment::Rank second = profile.ranks[0];
  second.rank = 7;
  second.locations.push_back(second.locations[0]);
  second.locations[1].thread = 1;
  second.locations[1].name = "worker";
  profile.ranks.push_back(second);
  return experiment::Experiment::of({"made-up", {}, profile});
}

TEST(RunOfExperiment, nodes_are_in_preorder) {
  const auto run = run_of_experiment(made(), "test");
  ASSERT_FALSE(run->nodes().empty());
  for (std::uint32_t node = 0; node < run->nodes().size(); ++node) {
    const RunNode& of = run->nodes()[node];
    EXPECT_NE(of.name, "");
    EXPECT_GT(of.end, node);
    if (of.parent < 0) continue;
    const RunNode& above = run->nodes()[static_cast<std::size_t>(of.parent)];
    EXPECT_LT(of.parent, static_cast<std::int32_t>(node));
    EXPECT_LE(of.end, above.end);
    EXPECT_LT(node, above.end);
  }
}

TEST(RunOfExperiment, values_of_a_location_add_up_to_its_wall_time) {
  const auto run = run_of_experiment(made(), "test");
  ASSERT_EQ(run->locations().size(), 3u);
  EXPECT_EQ(run->locations()[2].rank, 7);
  EXPECT_EQ(run->locations()[2].thread, 1);
  EXPECT_EQ(run->locations()[2].name, "worker");
  const std::size_t wall = run->metric(wall_metric).value(), visits = run->metric(visits_metric).value();
  for (std::size_t location = 0; location < 3; ++location) {
    double seconds = 0, calls = 0;
    std::set<std::uint32_t> seen;
    run->for_each_node(location, [&](std::uint32_t node, std::span<const double> values) {
      EXPECT_TRUE(seen.empty() || *seen.rbegin() < node);
      seen.insert(node);
      EXPECT_EQ(values.size(), run->metrics().size());
      seconds += values[wall];
      calls += values[visits];
    });
    EXPECT_NEAR(seconds, 60'000e-9, 1e-15);
    EXPECT_EQ(calls, 5);
  }
}

TEST(RunOfExperiment, an_iteration_must_have_been_logged) {
  for (const IterationOfLoop& of : {IterationOfLoop{"", 2}, {"", 0}, {"no loop of this name", 0}})
    EXPECT_THROW((void)run_of_experiment(made(), "test", of), ExportError) << of.number;
}

TEST(RunOfExperiment, metrics_have_parents_before_them) {
  const auto run = run_of_experiment(made(), "test");
  std::set<std::string> names;
  for (std::size_t m = 0; m < run->metrics().size(); ++m) {
    EXPECT_LT(run->metrics()[m].parent, static_cast<int>(m));
    EXPECT_TRUE(names.insert(run->metrics()[m].name).second) << run->metrics()[m].name;
  }
}

}  // namespace
}  // namespace refrain::exports

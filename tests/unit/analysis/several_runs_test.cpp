/// Several runs of one program: mean, deviation and standard error by arithmetic, over call paths that meet by name.
#include "offline/analysis/several_runs.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace refrain::analysis {
namespace {

using run::PathKind;

/// Each call path is below the one before it.
CallTree chain(const std::vector<std::pair<std::string, double>>& exclusive_s) {
  CallTree tree;
  tree.nodes.emplace_back();
  for (const auto& [name, seconds] : exclusive_s) {
    TreeNode node;
    node.parent = static_cast<std::int32_t>(tree.nodes.size()) - 1;
    node.name = name;
    node.kind = name.starts_with("MPI_") ? PathKind::Mpi : PathKind::User;
    node.exclusive_s = seconds;
    tree.nodes[static_cast<std::size_t>(node.parent)].children = {static_cast<std::uint32_t>(tree.nodes.size())};
    tree.nodes.push_back(node);
  }
  for (std::size_t i = tree.nodes.size(); i-- > 1;) {
    tree.nodes[i].inclusive_s += tree.nodes[i].exclusive_s;
    tree.nodes[i - 1].inclusive_s += tree.nodes[i].inclusive_s;
  }
  return tree;
}

const PathOverRuns* path(const std::vector<PathOverRuns>& all, const std::vector<std::string>& names) {
  for (const PathOverRuns& of : all)
    if (of.names == names) return &of;
  return nullptr;
}

TEST(SeveralRuns, mean_deviation_and_error_are_those_of_a_sample) {
  const std::vector<double> values{2, 4, 9};
  const OverRuns of = over_runs(values);
  EXPECT_EQ(of.runs, 3u);
  EXPECT_DOUBLE_EQ(of.mean, 5);
  EXPECT_DOUBLE_EQ(*of.deviation, std::sqrt((9 + 1 + 16) / 2.0));
  EXPECT_DOUBLE_EQ(*of.standard_error, std::sqrt(13.0 / 3));
  EXPECT_EQ(of.least, 2);
  EXPECT_EQ(of.greatest, 9);
}

TEST(SeveralRuns, one_run_has_no_deviation) {
  const std::vector<double> one{7}, none;
  EXPECT_EQ(over_runs(one).mean, 7);
  EXPECT_FALSE(over_runs(one).deviation);
  EXPECT_FALSE(over_runs(one).standard_error);
  EXPECT_EQ(over_runs(none).runs, 0u);
}

TEST(SeveralRuns, call_paths_meet_by_name) {
  const CallTree a = chain({{"main", 1}, {"solve", 2}, {"MPI_Wait", 3}}), b = chain({{"main", 3}, {"solve", 6}}),
                 c = chain({{"main", 5}, {"other", 1}});
  const std::vector<RunOfSeveral> runs{{&a}, {&b}, {&c}};
  const auto paths = paths_over_runs(runs);
  ASSERT_EQ(paths.size(), 4u);
  EXPECT_DOUBLE_EQ(path(paths, {"main"})->exclusive_s.mean, 3);
  EXPECT_DOUBLE_EQ(*path(paths, {"main"})->exclusive_s.deviation, 2);
  EXPECT_DOUBLE_EQ(path(paths, {"main"})->inclusive_s.mean, (6.0 + 9 + 6) / 3);
  const PathOverRuns* const wait = path(paths, {"main", "solve", "MPI_Wait"});
  EXPECT_EQ(wait->kind, PathKind::Mpi);
  EXPECT_DOUBLE_EQ(wait->exclusive_s.mean, 1);
  EXPECT_EQ(wait->exclusive_s.runs, 3u);
  EXPECT_EQ(wait->exclusive_s.least, 0);
  EXPECT_DOUBLE_EQ(path(paths, {"main", "other"})->exclusive_s.mean, 1.0 / 3);
}

TEST(SeveralRuns, what_a_part_of_a_run_lacks_is_unknown) {
  const CallTree a = chain({{"main", 1}, {"solve", 2}}), b = chain({{"main", 3}, {"solve", 6}}),
                 c = chain({{"main", 5}});
  const std::vector<RunOfSeveral> runs{{&a}, {&b}, {&c, 1, false}};
  const auto paths = paths_over_runs(runs);
  const OverRuns& solve = path(paths, {"main", "solve"})->exclusive_s;
  EXPECT_EQ(solve.runs, 2u);
  EXPECT_DOUBLE_EQ(solve.mean, 4);
  EXPECT_EQ(path(paths, {"main"})->exclusive_s.runs, 3u);
}

TEST(SeveralRuns, values_are_means_over_the_ranks_of_a_run) {
  const CallTree a = chain({{"main", 4}}), b = chain({{"main", 12}});
  const std::vector<RunOfSeveral> runs{{&a, 2}, {&b, 4}};
  const auto paths = paths_over_runs(runs);
  EXPECT_DOUBLE_EQ(paths[0].exclusive_s.least, 2);
  EXPECT_DOUBLE_EQ(paths[0].exclusive_s.greatest, 3);
}

TEST(SeveralRuns, calls_that_were_not_counted_are_unknown) {
  CallTree a = chain({{"MPI_Wait", 1}}), b = a;
  a.nodes[1].inclusive.add(format::MetricId::Visits, 10);
  const std::vector<RunOfSeveral> one_of_two{{&a}, {&b, 1, true, false}}, none{{&b, 1, true, false}};
  EXPECT_EQ(paths_over_runs(one_of_two)[0].mpi_calls.mean, 10);
  EXPECT_EQ(paths_over_runs(none)[0].mpi_calls.runs, 0u);
}

TEST(SeveralRuns, time_off_the_cpu_is_one_path_where_not_all_tell_its_cause) {
  CallTree told = chain({{run::blocked_name, 2}}), untold = chain({{run::not_on_cpu_name, 4}});
  untold.totals.off_cpu_is_told_apart = false;
  const std::vector<RunOfSeveral> runs{{&told}, {&untold}};
  const auto paths = paths_over_runs(runs);
  ASSERT_EQ(paths.size(), 1u);
  EXPECT_DOUBLE_EQ(paths[0].exclusive_s.mean, 3);
}

}  // namespace
}  // namespace refrain::analysis

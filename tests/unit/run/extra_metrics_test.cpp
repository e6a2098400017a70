#include "offline/run/extra_metrics.hpp"

#include <gtest/gtest.h>
#include <map>

#include "offline/run/iteration_profile.hpp"
#include "offline/run/iterations.hpp"
#include "tests/unit/analysis/loop_builder.hpp"

namespace refrain::run {
namespace {

using namespace analysis::test;
using Values = std::map<std::uint32_t, std::int64_t>;

/// A unit with one metric beside the time: its total, and what paths have of it.
experiment::Unit unit_with(std::int64_t total, const Values& values) {
  experiment::Unit unit;
  unit.extra.totals = {total};
  for (const auto& [path, value] : values) {
    unit.extra.values.push_back({path, static_cast<std::uint32_t>(unit.extra.columns.size())});
    unit.extra.columns.push_back(value);
  }
  return unit;
}

void give_weight(experiment::Unit& unit, std::uint32_t path, std::int64_t weight) {
  unit.values.push_back({path, static_cast<std::uint32_t>(unit.columns.size())});
  unit.columns.insert(unit.columns.end(), {1, weight});
}

Values values_of(const std::vector<PathValue>& list) {
  Values values;
  for (const auto& [path, value] : list) values[path] = value;
  return values;
}

TEST(ExtraShares, of_user_code_are_in_proportion_to_what_ticks_found) {
  const experiment::Profile profile = empty_profile();
  experiment::Unit unit = unit_with(1000, {{send, 100}, {function_10, 30}, {function_20, 10}});
  give_weight(unit, function_10, 1);
  give_weight(unit, function_20, 99);
  const ExtraShares shares = share_extra(unit, profile.paths, 0);
  EXPECT_EQ(shares.total, 1000);
  EXPECT_EQ(values_of(shares.mpi_paths), (Values{{send, 100}}));
  EXPECT_EQ(values_of(shares.user_paths), (Values{{function_10, 675}, {function_20, 225}}));
  EXPECT_EQ(shares.no_path, 0);
}

TEST(ExtraShares, follow_the_weights_where_ticks_found_nothing) {
  const experiment::Profile profile = empty_profile();
  experiment::Unit unit = unit_with(1000, {{send, 100}});
  give_weight(unit, function_10, 20);
  give_weight(unit, function_20, 10);
  EXPECT_EQ(values_of(share_extra(unit, profile.paths, 0).user_paths),
            (Values{{function_10, 600}, {function_20, 300}}));
}

TEST(ExtraShares, without_a_tick_have_no_path) {
  const experiment::Profile profile = empty_profile();
  const ExtraShares shares = share_extra(unit_with(1000, {{send, 100}}), profile.paths, 0);
  EXPECT_EQ(shares.no_path, 900);
  EXPECT_TRUE(shares.user_paths.empty());
}

TEST(ExtraShares, of_a_metric_that_the_rank_does_not_have_are_none) {
  const experiment::Profile profile = empty_profile();
  const ExtraShares shares = share_extra(unit_with(1000, {{send, 100}}), profile.paths, 1);
  EXPECT_EQ(shares.total, 0);
  EXPECT_TRUE(shares.mpi_paths.empty());
}

TEST(ExtraShares, of_damaged_data_still_add_up) {
  const experiment::Profile profile = empty_profile();
  const ExtraShares shares = share_extra(unit_with(10, {{send, 600}, {allreduce, 400}}), profile.paths, 0);
  EXPECT_EQ(values_of(shares.mpi_paths), (Values{{send, 6}, {allreduce, 4}}));
  EXPECT_EQ(shares.no_path, 0);
}

/// Two clusters of one class: in the first everything happens in user code, in the second half of it in MPI.
struct TwoClusters {
  TwoClusters() {
    loop.metrics = {{"wall", "ticks", format::Precision::Exact}, {"faults", "1", format::Precision::Exact}};
    loop.clusters = {{.label = 0, .members = 2, .squares = {0, 200}}, {.label = 1, .members = 1, .squares = {0, 0}}};
    first = unit_with(60, {{send, 20}, {function_10, 3}, {function_20, 1}});
    second = unit_with(100, {{send, 50}, {function_20, 5}});
  }
  experiment::Profile profile = empty_profile();
  std::vector<experiment::ExtraMetric> metrics{{"faults", "1"}};
  experiment::Loop loop;
  experiment::Unit first, second;
  std::vector<const experiment::Unit*> units{&first, &second};
};

std::int64_t sum(const experiment::ExtraValues& values) {
  std::int64_t sum = 0;
  for (const std::int64_t value : values.columns) sum += value;
  return sum;
}

TEST(ExtraOfIterations, add_up_to_the_total_of_the_iteration) {
  const TwoClusters of;
  const ExtraOfIterations iterations(of.profile.paths, of.metrics, of.loop, of.units);
  for (const std::int64_t total : {0, 1, 20, 30, 1000}) {
    const std::int64_t row[] = {1, total};
    const experiment::ExtraValues values = iterations.values_of(0, row);
    EXPECT_EQ(values.totals, std::vector<std::int64_t>{total});
    EXPECT_EQ(sum(values), total);
  }
}

TEST(ExtraOfIterations, at_the_mean_of_the_cluster_have_its_division) {
  const TwoClusters of;
  const ExtraOfIterations iterations(of.profile.paths, of.metrics, of.loop, of.units);
  const std::int64_t row[] = {1, 30};
  const experiment::ExtraValues values = iterations.values_of(0, row);
  ASSERT_EQ(values.values.size(), 3u);
  EXPECT_EQ(values.columns, (std::vector<std::int64_t>{10, 15, 5}));  // send, then 20 as 3 to 1
}

TEST(ExtraOfIterations, alone_in_their_cluster_are_as_they_were) {
  const TwoClusters of;
  const ExtraOfIterations iterations(of.profile.paths, of.metrics, of.loop, of.units);
  const std::int64_t row[] = {1, 100};
  EXPECT_EQ(iterations.values_of(1, row).columns, (std::vector<std::int64_t>{50, 5}));
}

TEST(ExtraOfIterations, without_a_cluster_have_their_total) {
  const TwoClusters of;
  const ExtraOfIterations iterations(of.profile.paths, of.metrics, of.loop, of.units);
  const std::int64_t row[] = {1, 77};
  EXPECT_EQ(iterations.values_of(-1, row).totals, std::vector<std::int64_t>{77});
}

TEST(ExtraOfIterations, of_selected_paths_are_those_of_the_whole_division) {
  const TwoClusters of;
  const ExtraOfIterations iterations(of.profile.paths, of.metrics, of.loop, of.units);
  for (const std::uint32_t path : {send, function_10, function_20}) {
    PathSelection selection;
    selection.paths.resize(path_count);
    selection.paths[path] = true;
    const auto value = iterations.selected(selection, 0);
    for (const std::int64_t total : {30, 36, 24}) {
      const std::int64_t row[] = {1, total};
      const experiment::ExtraValues whole = iterations.values_of(0, row);
      std::int64_t expected = 0;
      for (const auto& values : whole.values) expected += values.path == path ? whole.of(values, 0) : 0;
      EXPECT_NEAR(value(0, row), static_cast<double>(expected), 1) << path << " of " << total;
    }
  }
}

/// Where one MPI function falls as the total grows, it is cut at 0, and all at the total: each for itself. In all
/// iterations as in one.
TEST(ExtraOfIterations, of_selected_paths_are_cut_one_by_one) {
  TwoClusters of;
  of.first = unit_with(300, {{send, 100}, {allreduce, 190}, {function_10, 10}});
  of.second = unit_with(900, {{send, 890}, {function_10, 10}});
  of.loop.clusters[1].members = 10;
  const ExtraOfIterations iterations(of.profile.paths, of.metrics, of.loop, of.units);
  for (const std::uint32_t path : {send, allreduce}) {
    PathSelection selection;
    selection.paths.resize(path_count);
    selection.paths[path] = true;
    const auto value = iterations.selected(selection, 0);
    for (const std::int64_t total : {0, 1, 10, 30, 80, 200, 1'000}) {
      const std::int64_t row[] = {1, total};
      const experiment::ExtraValues whole = iterations.values_of(0, row);
      std::int64_t expected = 0;
      for (const auto& values : whole.values) expected += values.path == path ? whole.of(values, 0) : 0;
      EXPECT_EQ(value(0, row), static_cast<double>(expected)) << path << " of " << total;
    }
  }
}

}  // namespace
}  // namespace refrain::run

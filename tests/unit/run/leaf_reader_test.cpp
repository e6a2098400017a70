// Parts of what hand-made locations did, whose sums are known.
#include "offline/run/leaf_reader.hpp"

#include <gtest/gtest.h>
#include <map>

#include "tests/unit/analysis/loop_log.hpp"

namespace refrain::run {
namespace {

namespace test = analysis::test;
using test::Iteration;

constexpr UnitRef outside{UnitRef::Outside};
constexpr UnitRef cluster(std::int64_t number) { return {UnitRef::Cluster, 0, number}; }
constexpr UnitRef iteration(std::int64_t number) { return {UnitRef::Iteration, 0, number}; }

/// Rank 0 has 1,000 ns outside of loops and three iterations of a loop, two of them in cluster 0; rank 7 has the
/// 1,000 ns alone, on two threads.
class LeafReaderTest : public testing::Test {
 protected:
  LeafReaderTest() : experiment_(experiment::Experiment::of({"made-up", {}, made()})) {}

  static std::vector<Iteration> iterations() {
    return {{0, 10'000, {2, 3'000, 2, 64, 0, 0}, {}, {20, 5'000}, {}},
            {1, 50'000, {2, 6'000, 2, 64, 0, 0}, {1, 4'000, 0, 0, 0, 0}, {10, 10'000}, {30, 30'000}},
            {0, 20'000, {4, 6'000, 4, 128, 0, 0}, {}, {40, 10'000}, {}}};
  }
  static experiment::Profile made() {
    experiment::Profile profile = test::profile_of(iterations());
    experiment::Rank& first = profile.ranks[0];
    test::add_log(first.locations[0].loops[0], iterations());
    const Iteration before{-1, 1'000, {1, 100, 1, 10, 0, 0}, {}, {4, 800}, {}};
    first.locations[0].units.push_back(test::unit_of(before, -1));
    experiment::Rank second = first;
    second.rank = 7;
    second.locations[0].loops.clear();
    second.locations[0].units = {test::unit_of(before, -1)};
    second.locations.push_back(second.locations[0]);
    second.locations[1].thread = 1;
    profile.ranks.push_back(second);
    return profile;
  }

  std::shared_ptr<const experiment::Experiment> experiment_;
};

TEST_F(LeafReaderTest, wall_time_of_a_unit_is_what_it_took) {
  LeafReader leaves(*experiment_);
  const auto wall_ns = [&](std::int32_t rank, std::int32_t thread, const UnitRef& unit = {}) {
    const Leaf* leaf = leaves.of(rank, thread, unit);
    return leaf ? leaf->time(wall) : -1;
  };
  EXPECT_EQ(wall_ns(0, 0), 81'000);
  EXPECT_EQ(wall_ns(0, 0, outside), 1'000);
  EXPECT_EQ(wall_ns(7, 1), 1'000);
  EXPECT_EQ(wall_ns(0, 0, cluster(0)), 30'000);
  EXPECT_EQ(wall_ns(0, 0, cluster(1)), 50'000);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(wall_ns(0, 0, iteration(static_cast<std::int64_t>(i))), iterations()[i].wall);
}

TEST_F(LeafReaderTest, a_leaf_says_of_what_it_is) {
  LeafReader leaves(*experiment_);
  EXPECT_TRUE(leaves.of(0, 0)->is_whole_run);
  EXPECT_FALSE(leaves.of(0, 0, outside)->is_whole_run);
  EXPECT_TRUE(leaves.of(0, 0, cluster(0))->is_exact);
  EXPECT_FALSE(leaves.of(0, 0, iteration(0))->is_exact);
  EXPECT_TRUE(leaves.of(0, 0, iteration(1))->is_exact) << "a cluster of one member with many samples";
  EXPECT_EQ(leaves.rank()->rank, 0);
}

TEST_F(LeafReaderTest, nothing_is_read_of_what_is_not_there) {
  LeafReader leaves(*experiment_);
  EXPECT_EQ(leaves.of(1, 0), nullptr);
  EXPECT_EQ(leaves.of(0, 1), nullptr);
  for (const std::int64_t number : {-1L, 2L, 1L << 32, 1L << 62})
    EXPECT_EQ(leaves.of(0, 0, cluster(number)), nullptr) << number;
  for (const std::int64_t number : {-1L, 3L, 1L << 32, 1L << 62})
    EXPECT_EQ(leaves.of(0, 0, iteration(number)), nullptr) << number;
  EXPECT_EQ(leaves.of(0, 0, {UnitRef::Iteration, 1, 0}), nullptr);
  EXPECT_EQ(leaves.of(7, 0, cluster(0)), nullptr);
  EXPECT_EQ(leaves.of(0, 0)->time(wall), 81'000) << "and then goes on";
}

TEST_F(LeafReaderTest, values_are_exclusive_and_in_units_of_the_listed_metrics) {
  enum Node : std::uint32_t { root, caller, send, callee, other_caller, allreduce };
  Nodes nodes;
  nodes.add({root, PathKind::User, "caller"});
  nodes.add({caller, PathKind::Mpi, "MPI_Send"});
  nodes.add({caller, PathKind::User, "callee"});
  nodes.add({root, PathKind::User, "other_caller"});
  nodes.add({other_caller, PathKind::Mpi, "MPI_Allreduce"});
  nodes.finish({root, caller, send, other_caller, allreduce, caller, callee});
  const run::Run run(*experiment_, std::move(nodes), {});
  const std::vector<Metric> metrics = run.metrics().list();
  const auto number_of = [&](const char* name) {
    return static_cast<std::size_t>(std::ranges::find(metrics, name, &Metric::name) - metrics.begin());
  };
  ValueReader values(run);
  std::map<std::uint32_t, std::vector<double>> of_cluster;
  values.for_each_node(0, 0, cluster(1), [&](std::uint32_t node, std::span<const double> by_metric) {
    EXPECT_TRUE(of_cluster.empty() || of_cluster.rbegin()->first < node);
    of_cluster[node].assign(by_metric.begin(), by_metric.end());
  });
  ASSERT_EQ(of_cluster.size(), 4u) << "nothing is of the root, nor of a caller that does nothing itself";
  EXPECT_EQ(of_cluster[send].size(), metrics.size());
  EXPECT_DOUBLE_EQ(of_cluster[send][number_of("mpi_point_to_point")], 6'000e-9);
  EXPECT_EQ(of_cluster[send][number_of("bytes_sent")], 64);
  EXPECT_EQ(of_cluster[allreduce][number_of("visits")], 1);
  EXPECT_DOUBLE_EQ(of_cluster[caller][number_of("user")], 10'000e-9);
  EXPECT_DOUBLE_EQ(of_cluster[callee][number_of("wall")], 30'000e-9);
}

}  // namespace
}  // namespace refrain::run

// Times by rank for efficiencies: of a marked loop that ranks share, with waiting by each method.
#include "offline/report/rank_times.hpp"

#include <gtest/gtest.h>

namespace refrain::report {
namespace {

constexpr std::int64_t second = 1'000'000'000;  // in ticks

/// Two ranks in a marked loop that calls MPI_Recv and MPI_File_write.
class TwoRanks {
 public:
  TwoRanks() {
    whole.profile.ranks_expected = 2;
    whole.profile.complete = true;
    using experiment::NodeKind;
    whole.profile.paths = {{0, NodeKind::Root, -1, 0},
                           {0, NodeKind::Marked, -1, 0},
                           {1, NodeKind::Region, -1, 0},
                           {1, NodeKind::Region, -1, 1}};
    tree.node_of = {0, 1, 2, 3};
    add_node(-1, "", run::PathKind::User);
    add_node(0, "steps", run::PathKind::User);
    add_node(1, "MPI_Recv", run::PathKind::Mpi);
    add_node(1, "MPI_File_write", run::PathKind::Mpi);
    tree.nodes[1].marked = true;
    waits.resize(tree.nodes.size());
    add_rank(10, 2, 1);
    add_rank(10, 6, 0);
  }

  std::optional<analysis::Efficiency> efficiency() const { return analysis::efficiency_of(times().ranks); }
  PartTimes times(const std::string& region = "steps") const {
    const auto experiment = experiment::Experiment::of(whole);
    return times_of_region({*experiment, tree, waits, nullptr}, region);
  }

  experiment::WholeExperiment whole;
  analysis::CallTree tree;
  std::vector<NodeWait> waits;

 private:
  void add_node(std::int32_t parent, const char* name, run::PathKind kind) {
    analysis::TreeNode node;
    node.parent = parent;
    node.name = name;
    node.kind = kind;
    tree.nodes.push_back(node);
  }
  void add_rank(std::int64_t mark_s, std::int64_t receive_s, std::int64_t write_s) {
    experiment::Rank& rank = whole.profile.ranks.emplace_back();
    rank.rank = static_cast<std::int32_t>(whole.profile.ranks.size()) - 1;
    rank.host = "node" + std::to_string(rank.rank);
    experiment::RunTotals& run = rank.locations.emplace_back().run.emplace();
    run.paths = {{1, 0, 0}};
    for (const format::MetricId metric : format::column_metrics<experiment::NodeKind::Marked>)
      run.columns.push_back(metric == format::MetricId::MarkTime ? mark_s * second : 0);
    const auto columns = static_cast<std::uint32_t>(run.columns.size());
    run.paths.push_back({2, columns, receive_s * second});
    run.paths.push_back({3, columns, write_s * second});
    run.columns.resize(columns + format::columns_of(experiment::NodeKind::Region));
    tree.nodes[2].exclusive_s += static_cast<double>(receive_s);
    tree.nodes[3].exclusive_s += static_cast<double>(write_s);
    analysis::LocationSummary& first = tree.locations.emplace_back();
    first.rank = rank.rank;
    first.wall_s = static_cast<double>(mark_s);
  }
};

TEST(RankTimes, useful_time_of_a_mark_is_its_time_outside_of_mpi) {
  const TwoRanks two;
  const PartTimes times = two.times();
  ASSERT_EQ(times.ranks.size(), 2U);
  EXPECT_FALSE(times.is_sampled);
  EXPECT_NEAR(times.ranks[0].useful.value, 7, 1e-9);
  EXPECT_NEAR(times.ranks[1].useful.value, 4, 1e-9);
  EXPECT_NEAR(times.ranks[0].io_s, 1, 1e-9);
  const auto of = two.efficiency();
  EXPECT_NEAR(of->parallel.value, .55, 1e-9);
  EXPECT_EQ(of->machines, 2U);
  EXPECT_NEAR(of->within_machines, 1, 1e-9);
}

TEST(RankTimes, waits_by_events_are_those_of_each_rank) {
  TwoRanks two;
  NodeWait& wait = two.waits[2];
  wait.method = NodeWait::Method::Events;
  wait.seconds = 6.5;
  wait.by_rank = {{0, 1}, {1, 5.5}};
  const PartTimes times = two.times();
  EXPECT_EQ(times.why_no_waits, "");
  EXPECT_NEAR(times.ranks[1].wait->seconds, 5.5, 1e-9);
  // Rank 0 takes 7 + 1 of I/O + 1 without transfer, rank 1 4 + 5.5.
  const auto of = two.efficiency();
  EXPECT_NEAR(of->serialisation->value, 7 / 9.5, 1e-9);
  EXPECT_NEAR(of->transfer->value, .95, 1e-9);
  EXPECT_EQ(of->transfer->error, 0);
}

TEST(RankTimes, a_sum_over_ranks_alone_says_little_of_each) {
  TwoRanks two;
  NodeWait& wait = two.waits[2];
  wait.method = NodeWait::Method::Matched;
  wait.seconds = 4;
  const PartTimes times = two.times();
  EXPECT_NEAR(times.ranks[0].wait->seconds, 1, 1e-9);
  EXPECT_NEAR(times.ranks[1].wait->seconds, 3, 1e-9);
  EXPECT_GT(times.ranks[1].wait->error_s(), 1.5);
}

TEST(RankTimes, waits_by_a_sample_have_the_replicates_of_each_rank_and_its_part_of_the_rest) {
  TwoRanks two;
  NodeWait& wait = two.waits[2];
  wait.method = NodeWait::Method::Sampled;
  wait.seconds = 4;
  wait.by_rank = {{0, 1}, {1, 3}};
  wait.has_replicates_by_rank = true;
  const run::Signs signs = run::signs_of(1, 1);
  wait.replicates_by_rank[1].add(signs, 3e8);
  wait.replicates_of_rest.add(signs, 4e8);
  wait.replicates.add(signs, 7e8);
  const PartTimes times = two.times();
  // Rank 0 has 2 s of the 8 s in these calls.
  EXPECT_NEAR(times.ranks[0].wait->error_s(), .1, 1e-6);
  EXPECT_NEAR(times.ranks[1].wait->error_s(), .3 + .3, 1e-6);
  run::Estimate sum;
  for (const auto& rank : times.ranks) sum += *rank.wait;
  EXPECT_EQ(sum.replicates, wait.replicates);
}

TEST(RankTimes, waits_that_no_method_tells_are_unknown) {
  TwoRanks two;
  EXPECT_NE(two.times().why_no_waits.find("less than half"), std::string::npos);
  EXPECT_FALSE(two.efficiency()->serialisation);
  two.waits.clear();
  EXPECT_NE(two.times().why_no_waits.find("REFRAIN_WAIT_STATES"), std::string::npos);
}

TEST(RankTimes, a_region_that_is_not_there_is_refused) { EXPECT_THROW(TwoRanks().times("nowhere"), UsageError); }

}  // namespace
}  // namespace refrain::report

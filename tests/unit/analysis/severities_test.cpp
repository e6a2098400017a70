// What the model answers about hand-made experiments whose sums are known.
#include "offline/analysis/severities.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>

#include "offline/symbols/symbols.hpp"
#include "tests/unit/analysis/loop_log.hpp"

namespace refrain::analysis {
namespace {

using test::Iteration;

/// Rank 0 has the thread `main`, rank 7 the threads `main` and `worker`, on two nodes. Thread `main` of rank 0: 1,000
/// ticks outside of loops and three iterations of the loop `step`, two of them in cluster 0.
class SeveritiesTest : public testing::Test {
 protected:
  SeveritiesTest() : experiment_(experiment::Experiment::of({"made-up", {}, made()})) {
    tree_ = build_call_tree(*experiment_, symbolizer_);
    severities_ = std::make_unique<Severities>(experiment_, tree_);
  }

  static Iteration outside() { return {-1, 1'000, {1, 100, 1, 10, 0, 0}, {}, {4, 800}, {}}; }
  static std::vector<Iteration> iterations() {
    return {{0, 10'000, {2, 3'000, 2, 64, 0, 0}, {}, {20, 5'000}, {}},
            {1, 50'000, {2, 6'000, 2, 64, 0, 0}, {1, 4'000, 0, 0, 0, 0}, {10, 10'000}, {30, 30'000}},
            {0, 20'000, {4, 6'000, 4, 128, 0, 0}, {}, {40, 10'000}, {}}};
  }
  static experiment::Profile made() {
    experiment::Profile profile = test::profile_of(iterations());
    experiment::Rank& first = profile.ranks[0];
    first.host = "node-a";
    test::add_log(first.locations[0].loops[0], iterations());
    Iteration before = outside();
    first.locations[0].units.push_back(test::unit_of(before, -1));
    experiment::Rank second = first;
    second.rank = 7;
    second.host = "node-b";
    second.locations[0].loops.clear();
    second.locations[0].units = {test::unit_of(before, -1)};
    second.locations.push_back(second.locations[0]);
    second.locations[1].name = "worker";
    second.locations[1].thread = 1;
    profile.ranks.push_back(second);
    return profile;
  }

  std::uint32_t node(std::initializer_list<const char*> names) const {
    std::uint32_t at = 0;
    for (const char* name : names) {
      const auto& children = tree_.nodes[at].children;
      const auto child = std::find_if(children.begin(), children.end(),
                                      [&](std::uint32_t one) { return tree_.nodes[one].name == name; });
      if (child == children.end()) throw std::runtime_error(std::string("no node ") + name);
      at = *child;
    }
    return at;
  }
  Severity of(const char* metric, std::uint32_t node, const LocationRef& at, const UnitRef& unit = {},
              bool inclusive = false) const {
    return severities_->of(severities_->metric(metric).value(), node, at, unit, inclusive);
  }

  std::shared_ptr<const experiment::Experiment> experiment_;
  Symbolizer symbolizer_;
  CallTree tree_;
  std::unique_ptr<Severities> severities_;
};

constexpr UnitRef outside_of_loops{UnitRef::Outside};
constexpr UnitRef cluster(std::int64_t number) { return {UnitRef::Cluster, 0, number}; }
constexpr UnitRef iteration(std::int64_t number) { return {UnitRef::Iteration, 0, number}; }

TEST_F(SeveritiesTest, wall_time_of_everything_is_that_of_the_unit) {
  const auto wall = [&](const LocationRef& at, const UnitRef& unit = {}) {
    return of("wall", 0, at, unit, true).value;
  };
  EXPECT_DOUBLE_EQ(wall({0, 0}), 81'000e-9);
  EXPECT_DOUBLE_EQ(wall({0, 0}, outside_of_loops), 1'000e-9);
  EXPECT_DOUBLE_EQ(wall({0, 0}, cluster(0)), 30'000e-9);
  EXPECT_DOUBLE_EQ(wall({0, 0}, cluster(1)), 50'000e-9);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_DOUBLE_EQ(wall({0, 0}, iteration(static_cast<std::int64_t>(i))),
                     static_cast<double>(iterations()[i].wall) * 1e-9);
  EXPECT_DOUBLE_EQ(wall({1, 1}), 1'000e-9);
}

TEST_F(SeveritiesTest, call_paths_have_what_was_counted_there) {
  const std::uint32_t send = node({"0x10", "MPI_Send"}), allreduce = node({"0x18", "MPI_Allreduce"});
  EXPECT_EQ(of("visits", send, {0, 0}).value, 9);
  EXPECT_EQ(of("mpi_calls", send, {0, 0}, cluster(0)).value, 6) << "the name that iterations have";
  EXPECT_EQ(of("bytes_sent", send, {0, 0}, iteration(2)).value, 128);
  EXPECT_EQ(of("bytes_sent", send, {1, 0}).value, 10);
  EXPECT_EQ(of("visits", allreduce, {0, 0}, iteration(1)).value, 1);
  EXPECT_EQ(of("visits", allreduce, {0, 0}, outside_of_loops).value, 0);
  EXPECT_DOUBLE_EQ(of("mpi", send, {0, 0}, cluster(1)).value, 6'000e-9);
}

TEST_F(SeveritiesTest, time_in_mpi_is_divided_by_class_of_function) {
  const auto everything = [&](const char* metric) { return of(metric, 0, {0, 0}, cluster(1), true).value; };
  EXPECT_DOUBLE_EQ(everything("mpi_point_to_point"), 6'000e-9);
  EXPECT_DOUBLE_EQ(everything("mpi_collective"), 4'000e-9);
  EXPECT_EQ(everything("mpi_io"), 0);
  EXPECT_DOUBLE_EQ(everything("mpi"), 10'000e-9);
  EXPECT_DOUBLE_EQ(everything("user"), 40'000e-9);
  EXPECT_DOUBLE_EQ(everything("mpi") + everything("user") + everything("refrain"), everything("wall"));
}

TEST_F(SeveritiesTest, every_answer_says_how_well_it_is_known) {
  const std::uint32_t send = node({"0x10", "MPI_Send"}), function = node({"0x10"});
  EXPECT_EQ(of("mpi", send, {0, 0}).known, Known::Exact);
  EXPECT_EQ(of("mpi", send, {0, 0}).standard_error, 0);
  EXPECT_EQ(of("mpi", send, {0, 0}, iteration(0)).known, Known::Reconstructed);
  EXPECT_EQ(of("mpi", send, {0, 0}, iteration(1)).known, Known::Exact) << "a cluster of one member with many samples";
  EXPECT_EQ(of("user", function, {0, 0}).known, Known::Sampled);
  EXPECT_EQ(of("wall", 0, {0, 0}, {}, true).known, Known::Exact);
  EXPECT_EQ(of("wall", 0, {0, 0}, {}, true).standard_error, 0);
}

TEST_F(SeveritiesTest, time_that_was_not_on_a_cpu_has_bounds_and_no_standard_error) {
  const Severity of_all = of("not_on_cpu", 0, {0, 0}, {}, true);
  ASSERT_TRUE(of_all.bounds);
  EXPECT_LE(of_all.bounds->first, of_all.value);
  EXPECT_GE(of_all.bounds->second, of_all.value);
  EXPECT_FALSE(of("user", 0, {0, 0}, {}, true).bounds);
  EXPECT_TRUE(of_all.value == 0 || !of_all.standard_error);
  EXPECT_TRUE(of("user", node({"0x10"}), {0, 0}).standard_error);
}

TEST_F(SeveritiesTest, the_standard_error_is_that_of_a_share_of_samples) {
  // Cluster 1: 10 samples in 0x10 with 10,000 ns and 30 in 0x20 with 30,000 ns, 1,000 ns each: a share of 1/4 of 40.
  const Severity severity = of("user", node({"0x10"}), {0, 0}, cluster(1));
  EXPECT_DOUBLE_EQ(severity.value, 10'000e-9);
  const double binomial = 40'000e-9 * std::sqrt(0.25 * 0.75 / 40);
  EXPECT_NEAR(severity.standard_error.value(), binomial, 0.05 * binomial);
}

TEST_F(SeveritiesTest, inclusive_values_have_what_is_called_there) {
  EXPECT_EQ(of("visits", node({"0x10"}), {0, 0}).value, 0);
  EXPECT_EQ(of("visits", node({"0x10"}), {0, 0}, {}, true).value, 9);
  const NodeSet both =
      severities_->select(std::vector{node({"0x10", "MPI_Send"}), node({"0x18", "MPI_Allreduce"})}, false);
  const std::vector<std::size_t> metrics = {*severities_->metric("visits"), *severities_->metric("mpi")};
  const auto answers = severities_->of(metrics, both, {0, 0});
  EXPECT_EQ(answers[0].value, 10);
  EXPECT_DOUBLE_EQ(answers[1].value, 19'100e-9);
}

TEST_F(SeveritiesTest, metrics_are_a_tree_whose_times_add_up) {
  const auto& metrics = severities_->metrics();
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    EXPECT_LT(metrics[m].parent, static_cast<int>(m)) << "parents come first";
    EXPECT_EQ(severities_->metric(metrics[m].name), m);
    EXPECT_FALSE(metrics[m].help.empty());
  }
  EXPECT_EQ(severities_->metric("weather"), std::nullopt);
}

TEST_F(SeveritiesTest, the_system_is_a_tree_of_nodes_ranks_and_threads) {
  const auto system = severities_->system();
  std::vector<std::string> names;
  for (const SystemNode& one : system) {
    EXPECT_LT(one.parent, static_cast<int>(names.size()));
    names.push_back(one.parent < 0 ? one.name : names[static_cast<std::size_t>(one.parent)] + "/" + one.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"machine", "machine/node-a", "machine/node-a/rank 0",
                                             "machine/node-a/rank 0/main", "machine/node-b", "machine/node-b/rank 7",
                                             "machine/node-b/rank 7/main", "machine/node-b/rank 7/worker"}));
  EXPECT_EQ(system.back().rank, 7);
  EXPECT_EQ(system.back().thread, 1);
}

TEST_F(SeveritiesTest, what_is_not_there_is_out_of_range) {
  const std::size_t wall = *severities_->metric("wall");
  EXPECT_THROW(severities_->of(severities_->metrics().size(), 0, {0, 0}), std::out_of_range);
  for (const LocationRef& at : {LocationRef{2, 0}, LocationRef{0, 1}, LocationRef{~std::size_t{0}, 0}})
    EXPECT_THROW(severities_->of(wall, 0, at), std::out_of_range);
  for (const std::int64_t number : {-1L, 2L, 1L << 32, 1L << 62})
    EXPECT_THROW(severities_->of(wall, 0, {0, 0}, cluster(number)), std::out_of_range) << number;
  for (const std::int64_t number : {-1L, 3L, 1L << 32, 1L << 62})
    EXPECT_THROW(severities_->of(wall, 0, {0, 0}, iteration(number)), std::out_of_range) << number;
  EXPECT_THROW(severities_->of(wall, 0, {0, 0}, {UnitRef::Iteration, 1, 0}), std::out_of_range);
  EXPECT_THROW(severities_->of(wall, 0, {1, 0}, cluster(0)), std::out_of_range);
}

TEST_F(SeveritiesTest, several_threads_may_ask_at_once) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const int n = (i + t) % 3;
        EXPECT_DOUBLE_EQ(of("wall", 0, {0, 0}, iteration(n), true).value,
                         static_cast<double>(iterations()[static_cast<std::size_t>(n)].wall) * 1e-9);
        EXPECT_DOUBLE_EQ(of("wall", 0, {1, static_cast<std::size_t>(t % 2)}, {}, true).value, 1'000e-9);
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace refrain::analysis

// What group() answers about hand-made experiments whose sums are known.
#include "offline/run/group.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <utility>

#include "offline/run/run.hpp"
#include "tests/unit/analysis/loop_builder.hpp"

namespace refrain::run {
namespace {

namespace test = analysis::test;
using format::MetricId;
using test::Iteration;

/// Rank 0 has the thread `main`, rank 7 the threads `main` and `worker`, on two nodes. Thread `main` of rank 0 has
/// 1,000 ns outside of loops and three iterations of a loop, two of them in cluster 0, the others have the 1,000 ns
/// alone.
class GroupTest : public testing::Test {
 protected:
  enum Node : std::uint32_t { root, caller, send, callee, other_caller, allreduce };

  GroupTest() : experiment_(experiment::Experiment::of({"made-up", {}, made()})), run_(*experiment_, nodes(), {}) {}

  static experiment::Profile made() {
    experiment::Profile profile =
        test::profile_of({{0, 10'000, {2, 3'000, 2, 64, 0, 0}, {}, {20, 5'000}, {}},
                          {1, 50'000, {2, 6'000, 2, 64, 0, 0}, {1, 4'000, 0, 0, 0, 0}, {10, 10'000}, {30, 30'000}},
                          {0, 20'000, {4, 6'000, 4, 128, 0, 0}, {}, {40, 10'000}, {}}});
    const Iteration outside{-1, 1'000, {1, 100, 1, 10, 0, 0}, {}, {4, 800}, {}};
    experiment::Rank& first = profile.ranks[0];
    first.host = "node-a";
    first.locations[0].units.push_back(test::unit_of(outside, -1));
    experiment::Rank second = first;
    second.rank = 7;
    second.host = "node-b";
    second.locations[0].loops.clear();
    second.locations[0].units = {test::unit_of(outside, -1)};
    second.locations.push_back(second.locations[0]);
    second.locations[1].name = "worker";
    second.locations[1].thread = 1;
    profile.ranks.push_back(second);
    return profile;
  }
  static Nodes nodes() {
    Nodes nodes;
    nodes.add({root, PathKind::User, "caller"});
    nodes.add({caller, PathKind::Mpi, "MPI_Send"});
    nodes.add({caller, PathKind::User, "callee"});
    nodes.add({root, PathKind::User, "other_caller"});
    nodes.add({other_caller, PathKind::Mpi, "MPI_Allreduce"});
    nodes.finish({root, caller, send, other_caller, allreduce, caller, callee});
    return nodes;
  }
  std::size_t metric(MetricId id) const { return run_.metrics().of(id); }
  /// Of all locations.
  Answer by_node(std::vector<std::size_t> metrics) const {
    return std::move(group(run_, {.keys = &by_node_, .metrics = std::move(metrics)})[0]);
  }
  static std::int64_t ns(const Quantity& of) { return narrowed(of.value); }

  std::shared_ptr<const experiment::Experiment> experiment_;
  run::Run run_;
  Keys by_node_ = run::by_node(run_.nodes());
};

TEST_F(GroupTest, everything_is_the_wall_time) {
  const std::vector<Answer> all = group(run_, {.metrics = {wall, mpi, user, refrain}});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(ns(all[0].of(0)), 83'000);
  EXPECT_EQ(ns(all[0].of(1)), 19'300);
  EXPECT_EQ(ns(all[0].of(2)), 63'700);
  EXPECT_EQ(ns(all[0].of(3)), 0);
  EXPECT_EQ(all[0].of(0).error(), 0) << "nothing is divided";
  EXPECT_EQ(all[0].of(0).known, Known::Exact);
  EXPECT_DOUBLE_EQ(all[0].seconds(0), 83'000e-9);
}

TEST_F(GroupTest, nodes_have_their_own_values_and_those_of_what_they_call) {
  const Answer of = by_node({wall, mpi, metric(MetricId::Visits), metric(MetricId::BytesSent)});
  EXPECT_EQ(ns(of.exclusive(caller, 0)), 900 + 21'000 + 10'000 + 2 * 900);
  EXPECT_EQ(ns(of.exclusive(callee, 0)), 30'000);
  EXPECT_EQ(ns(of.exclusive(send, 0)), 15'100 + 2 * 100);
  EXPECT_EQ(ns(of.inclusive(caller, 0)), 33'700 + 30'000 + 15'300);
  EXPECT_EQ(ns(of.exclusive(caller, 1)), 0);
  EXPECT_EQ(ns(of.inclusive(caller, 1)), 15'300);
  EXPECT_EQ(ns(of.inclusive(root, 0)), 83'000);
  EXPECT_EQ(ns(of.exclusive(send, 2)), 9 + 2);
  EXPECT_EQ(ns(of.inclusive(caller, 2)), 11);
  EXPECT_EQ(ns(of.exclusive(allreduce, 2)), 1);
  EXPECT_EQ(ns(of.exclusive(send, 3)), 10 + 64 + 64 + 128 + 2 * 10);
  EXPECT_TRUE(of.has(send));
  EXPECT_FALSE(of.has(other_caller));
}

TEST_F(GroupTest, time_in_mpi_is_told_apart_by_class_of_function) {
  const Answer all = std::move(group(run_, {.metrics = {mpi_point_to_point, mpi_collective, mpi_io}})[0]);
  EXPECT_EQ(ns(all.of(0)), 15'300);
  EXPECT_EQ(ns(all.of(1)), 4'000);
  EXPECT_EQ(ns(all.of(2)), 0);
}

TEST_F(GroupTest, places_are_kept_apart) {
  const auto values = [&](Place place) {
    std::map<std::string, std::int64_t> of;
    for (const Answer& one : group(run_, {.place = place, .metrics = {wall}}))
      of[one.machine + " " + std::to_string(one.rank) + "." + std::to_string(one.thread)] = ns(one.of(0));
    return of;
  };
  using Values = std::map<std::string, std::int64_t>;
  EXPECT_EQ(values(Place::Machine), (Values{{"node-a 0.0", 81'000}, {"node-b 7.0", 2'000}}));
  EXPECT_EQ(values(Place::Rank), (Values{{"node-a 0.0", 81'000}, {"node-b 7.0", 2'000}}));
  EXPECT_EQ(values(Place::Thread), (Values{{"node-a 0.0", 81'000}, {"node-b 7.0", 1'000}, {"node-b 7.1", 1'000}}));
}

TEST_F(GroupTest, answers_that_are_handed_over_are_the_same) {
  std::vector<std::int64_t> kept, handed_over;
  for (const Place place : {Place::Everywhere, Place::Machine, Place::Rank, Place::Thread}) {
    const Question question{.keys = &by_node_, .place = place, .metrics = {wall}};
    for (const Answer& of : group(run_, question)) kept.push_back(ns(of.inclusive(caller, 0)));
    group(run_, question, {}, [&](const Answer& of) { handed_over.push_back(ns(of.inclusive(caller, 0))); });
  }
  EXPECT_EQ(kept, handed_over);
  EXPECT_EQ(kept.size(), 1u + 2 + 2 + 3);
}

TEST_F(GroupTest, a_part_of_the_locations_is_asked_for) {
  const auto wall_of = [&](const Where& where) {
    std::int64_t sum = 0;
    for (const Answer& of : group(run_, {.metrics = {wall}}, where)) sum += ns(of.of(0));
    return sum;
  };
  EXPECT_EQ(wall_of({[](std::int32_t rank) { return rank == 7; }}), 2'000);
  EXPECT_EQ(wall_of({{}, [](std::int32_t rank, std::int32_t thread) { return rank == 7 && thread == 1; }}), 1'000);
  EXPECT_EQ(wall_of({[](std::int32_t) { return false; }}), 0);
}

TEST_F(GroupTest, chosen_nodes_are_added_up) {
  const auto of = [&](std::vector<std::uint32_t> nodes, bool inclusive) {
    return std::move(
        group(run_, {.metrics = {wall, metric(MetricId::Visits)}, .nodes = run_.nodes().select(nodes, inclusive)})[0]);
  };
  EXPECT_EQ(ns(of({send, allreduce}, false).of(1)), 12);
  EXPECT_EQ(ns(of({send, allreduce}, false).of(0)), 19'300);
  EXPECT_EQ(ns(of({caller}, true).of(0)), 79'000);
  EXPECT_EQ(of({caller}, true).of(0).known, Known::Sampled);
  EXPECT_EQ(of({root}, true).of(0).known, Known::Exact) << "everything";
}

TEST_F(GroupTest, errors_are_made_within_locations_and_variances_add_between_them) {
  // Rank 0: 55,800 of weight divide 61,900 ns. The others: 4 samples that all hit one function, of 900 ns each.
  const double weight = 800 + 15'000 + 10'000 + 30'000,
               squares = 800. * 800 / 4 + 15'000. * 15'000 / 60 + 10'000. * 10'000 / 10 + 30'000. * 30'000 / 30;
  const double share = 30'000 / weight, samples = weight * weight / squares;
  const double of_callee = 61'900 * std::sqrt(share * (1 - share) / samples);
  const Answer of = by_node({wall, mpi});
  EXPECT_NEAR(of.exclusive(callee, 0).error().value(), of_callee, 1e-6 * of_callee);
  EXPECT_NEAR(of.exclusive(caller, 0).error().value(), std::sqrt(of_callee * of_callee + 2 * 225 * 225), 1e-3);
  // All samples of rank 0 are below it: 1 / n, not certain.
  const double of_all = 61'900 / samples;
  EXPECT_NEAR(of.inclusive(caller, 0).error().value(), std::sqrt(of_all * of_all + 2 * 225 * 225), 1e-3);
  EXPECT_EQ(of.inclusive(root, 0).error(), 0) << "everything is not divided";
  EXPECT_EQ(of.inclusive(caller, 1).error(), 0) << "MPI is exact";
  EXPECT_EQ(of.exclusive(send, 0).error(), 0);
  EXPECT_EQ(narrowed(of.inclusive(caller, 0).sampled), 63'700);
}

TEST_F(GroupTest, waiting_for_a_core_is_unknown_where_the_kernel_did_not_tell) {
  const Answer of = std::move(group(run_, {.metrics = {waited_for_core, blocked, not_on_cpu}})[0]);
  EXPECT_FALSE(of.of(0).is_known);
  EXPECT_FALSE(of.of(1).is_known);
  EXPECT_TRUE(of.of(2).is_known);
}

TEST_F(GroupTest, errors_of_estimates_without_replicates_are_those_of_one_location_and_not_added_up) {
  experiment::SavedMetric late;
  late.name = "late_sender", late.parent = "mpi", late.is_sampled = true;
  late.values = {{test::send, 0, 0, 2e-6}, {test::allreduce, 0, 0, 1e-6}, {test::send, 7, 1, 5e-6}};
  late.locations = {{0, 0, 3e-6, 4e-7}, {7, 1, 5e-6, 1e-7}};
  Metrics metrics;
  metrics.add({late});
  const std::size_t found = *metrics.find("late_sender");
  const auto ask = [&](const Keys* keys, const Where& where) {
    Grouping grouping(run_.nodes(), metrics, {.keys = keys, .metrics = {found}});
    for_each_leaf(*experiment_, where, [&](const Leaf& leaf) { grouping.add(leaf); });
    return std::move(grouping.finish()[0]);
  };
  const Where first{[](std::int32_t rank) { return rank == 0; }};
  EXPECT_EQ(ns(ask(nullptr, first).of(0)), 3'000);
  EXPECT_NEAR(ask(nullptr, first).of(0).error().value(), 400, 1e-6);
  EXPECT_EQ(ask(nullptr, first).of(0).known, Known::Sampled);
  EXPECT_EQ(ns(ask(nullptr, {}).of(0)), 8'000);
  EXPECT_EQ(ask(nullptr, {}).of(0).error(), std::nullopt) << "ranks err together";
  EXPECT_EQ(ns(ask(&by_node_, {}).exclusive(send, 0)), 7'000);
  EXPECT_EQ(ask(&by_node_, first).exclusive(send, 0).error(), std::nullopt);
}

TEST_F(GroupTest, errors_of_estimates_are_those_of_the_sums_of_their_replicates) {
  experiment::SavedMetric late;
  late.name = "late_sender", late.parent = "mpi", late.is_sampled = true;
  late.values = {{test::send, 0, 0, 2e-6}, {test::allreduce, 0, 0, 1e-6}, {test::send, 7, 1, 5e-6}};
  late.locations = {{0, 0, 3e-6, 4e-7}, {7, 1, 5e-6, 1e-7}};
  late.ranks_in_block = 1;
  const auto all_of = [](std::int64_t ns) {
    std::array<std::int64_t, Replicates::count> replicates;
    replicates.fill(ns);
    return replicates;
  };
  late.replicates = {{test::send, 7, all_of(-100)}, {test::send, 0, all_of(300)}, {test::allreduce, 0, all_of(50)}};
  const auto ask = [&](const Keys* keys, const Where& where) {
    Metrics metrics;
    metrics.add({late});
    Grouping grouping(run_.nodes(), metrics, {.keys = keys, .metrics = {*metrics.find("late_sender")}});
    for_each_leaf(*experiment_, where, [&](const Leaf& leaf) { grouping.add(leaf); });
    const Answer of = std::move(grouping.finish()[0]);
    const auto error = [](const Quantity& quantity) { return quantity.error().value_or(-1); };
    return keys ? std::vector{error(of.exclusive(send, 0)), error(of.exclusive(allreduce, 0)),
                              error(of.inclusive(root, 0))}
                : std::vector{error(of.of(0))};
  };
  const auto expect = [](const std::vector<double>& errors, const std::vector<double>& known) {
    ASSERT_EQ(errors.size(), known.size());
    for (std::size_t i = 0; i < known.size(); ++i) EXPECT_NEAR(errors[i], known[i], 1e-6) << i;
  };
  expect(ask(nullptr, {}), {250});
  expect(ask(&by_node_, {}), {200, 50, 250});
  const Where first{[](std::int32_t rank) { return rank == 0; }};
  expect(ask(&by_node_, first), {300, 50, 400});
  // Of more ranks than have replicates of their own, parts are not known.
  late.ranks_in_block = 8;
  for (auto& of : late.replicates) of.rank = 0;
  expect(ask(nullptr, {}), {250});
  expect(ask(&by_node_, first), {-1, -1, 400});
}

TEST(Keys, count_a_function_that_calls_itself_once) {
  Nodes nodes;  // f > g > f, and h > g
  nodes.add({0, PathKind::User, "f"});
  nodes.add({1, PathKind::User, "g"});
  nodes.add({2, PathKind::User, "f"});
  nodes.add({0, PathKind::User, "h"});
  nodes.add({4, PathKind::User, "g"});
  nodes.finish({});
  EXPECT_EQ(nodes.end(0), 6u);
  EXPECT_EQ(nodes.end(1), 4u);
  EXPECT_EQ(nodes.end(5), 6u);
  const Keys by = by_function(nodes);
  ASSERT_EQ(by.size(), 3u);
  EXPECT_EQ(by.of_node, (std::vector<std::uint32_t>{Keys::none, 0, 1, 0, 2, 1}));
  EXPECT_EQ(by.first, (std::vector<std::uint32_t>{1, 2, 4}));
  EXPECT_EQ(by.is_outermost, (std::vector<bool>{false, true, true, false, true, true}));
  EXPECT_EQ(nodes.select(std::vector<std::uint32_t>{2}, true),
            (std::vector<bool>{false, false, true, true, false, false}));
  EXPECT_EQ(nodes.select(std::vector<std::uint32_t>{2}, false),
            (std::vector<bool>{false, false, true, false, false, false}));
}

TEST_F(GroupTest, exclusive_values_alone_are_the_same) {
  const Keys functions = by_function(run_.nodes());
  const Question question{.keys = &functions, .metrics = {wall, mpi, metric(MetricId::BytesSent)}};
  Question own = question;
  own.has_inclusive = false;
  const Answer both = std::move(group(run_, question)[0]), alone = std::move(group(run_, own)[0]);
  for (std::size_t key = 0; key < functions.size(); ++key)
    for (std::size_t column = 0; column < question.metrics.size(); ++column) {
      const Quantity of_both = both.exclusive(key, column), of_alone = alone.exclusive(key, column);
      EXPECT_EQ(ns(of_both), ns(of_alone));
      EXPECT_EQ(of_both.error(), of_alone.error());
      EXPECT_EQ(of_both.known, of_alone.known);
      EXPECT_EQ(both.has(key), alone.has(key));
    }
}

TEST_F(GroupTest, time_off_the_cpu_in_mpi_adds_up_to_that_of_the_unit) {
  experiment::Profile profile = test::profile_of({{0, 10'000, {2, 3'000, 2, 64, 0, 0}, {}, {}, {}}});
  experiment::Rank& rank = profile.ranks[0];
  experiment::Unit& unit = rank.locations[0].units[0];
  unit.off_mpi_ns = 900;
  unit.columns[unit.values[0].first + format::column_of(MetricId::OffCpuMpi)] = 700;
  for (const bool is_known : {true, false}) {  // older files have nothing at call paths
    rank.off_cpu_of_calls_is_counted = is_known;
    const auto experiment = experiment::Experiment::of({"made-up", {}, profile});
    const run::Run run(*experiment, nodes(), {});
    const Keys keys = run::by_node(run.nodes());
    const Answer of = std::move(group(run, {.keys = &keys, .metrics = {run.metrics().of(MetricId::OffCpuMpi)}})[0]);
    EXPECT_EQ(of.exclusive(send, 0).is_known, is_known);
    EXPECT_EQ(ns(of.exclusive(send, 0)), 700);
    EXPECT_EQ(ns(of.inclusive(root, 0)), is_known ? 900 : 700) << "the rest has no call path";
  }
}

TEST_F(GroupTest, an_answer_that_is_handed_over_has_nothing_of_the_one_before) {
  const Keys functions = by_function(run_.nodes());
  for (const Keys* keys : {static_cast<const Keys*>(nullptr), &std::as_const(by_node_), &functions})
    for (const bool has_errors : {true, false}) {
      const Question question{.keys = keys,
                              .place = Place::Thread,
                              .metrics = {wall, mpi, metric(MetricId::BytesSent)},
                              .has_errors = has_errors};
      const std::vector<Answer> all = group(run_, question);
      ASSERT_EQ(all.size(), 3u);
      std::size_t place = 0;
      group(run_, question, {}, [&](const Answer& of) {
        ASSERT_LT(place, all.size());
        const Answer& alone = all[place++];
        EXPECT_EQ(of.thread, alone.thread);
        for (std::size_t key = 0; key < (keys ? keys->size() : 1); ++key) {
          EXPECT_EQ(of.has(key), alone.has(key));
          for (std::size_t column = 0; column < question.metrics.size(); ++column) {
            const Quantity handed_over = of.inclusive(key, column), known = alone.inclusive(key, column);
            EXPECT_EQ(ns(handed_over), ns(known));
            EXPECT_EQ(narrowed(handed_over.sampled), narrowed(known.sampled));
            EXPECT_EQ(handed_over.error(), known.error());
            EXPECT_EQ(ns(of.exclusive(key, column)), ns(alone.exclusive(key, column)));
          }
        }
      });
      EXPECT_EQ(place, all.size());
    }
}

}  // namespace
}  // namespace refrain::run

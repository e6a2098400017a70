// Single iterations reconstructed from clusters whose members are known.
#include "offline/run/iteration_profile.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "format/kept_iterations.hpp"
#include "offline/analysis/callpath_match.hpp"
#include "offline/analysis/cluster_differences.hpp"
#include "offline/run/iteration_metrics.hpp"
#include "offline/run/iteration_model.hpp"
#include "offline/run/iterations.hpp"
#include "offline/run/quantities.hpp"
#include "tests/unit/analysis/loop_builder.hpp"
#include "tests/unit/analysis/loop_log.hpp"
#include "tests/unit/analysis/tree_of.hpp"

namespace refrain::analysis {
namespace {

using format::MetricId;
using format::NodeKind;
using test::Iteration;

run::IterationProfiles profiles_of(const experiment::Profile& profile) {
  return {profile, profile.ranks[0], profile.ranks[0].locations[0], 0};
}

std::int64_t sum_of(const experiment::Profile& profile, const experiment::Unit& unit, MetricId metric) {
  std::int64_t sum = 0;
  for (const auto& row : unit.values) sum += run::value_of(unit, row, profile.paths[row.path].kind, metric);
  return sum;
}
std::int64_t value_at(const experiment::Profile& profile, const experiment::Unit& unit, std::uint32_t path,
                      MetricId metric) {
  for (const auto& row : unit.values)
    if (row.path == path) return run::value_of(unit, row, profile.paths[path].kind, metric);
  return 0;
}
std::int64_t exclusive_sum(const run::UnitTimes& times) {
  std::int64_t sum = times.refrain + times.not_on_cpu + times.no_sample + times.no_path + times.mpi_no_path;
  for (const auto& path : times.user_paths) sum += path.ticks;
  for (const auto& path : times.mpi_paths) sum += path.ticks;
  return sum;
}

std::vector<Iteration> random_iterations(std::mt19937& random, std::int32_t clusters) {
  std::vector<Iteration> iterations(200);
  const auto any = [&](std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(0, high)(random); };
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    Iteration& it = iterations[i];
    it.cluster = i < static_cast<std::size_t>(clusters) ? static_cast<std::int32_t>(i)
                                                        : static_cast<std::int32_t>(any(clusters - 1));
    const bool large = it.cluster % 2 == 1;
    for (auto* values : {&it.send, &it.allreduce}) {
      if (values == &it.allreduce && it.cluster % 3 == 0) continue;
      *values = {1 + any(large ? 9 : 1), any(1'000'000), any(5), any(large ? 1 << 30 : 100), any(5), any(1000)};
    }
    it.function_10 = {any(3), 0}, it.function_20 = {any(1), 0};
    for (auto* values : {&it.function_10, &it.function_20}) (*values)[1] = (*values)[0] * (5'000 + any(10'000));
    it.wall = it.send[1] + it.allreduce[1] + any(3'000'000);
  }
  return iterations;
}

TEST(IterationProfile, ticks_without_a_call_path_have_cost_their_time) {
  std::vector<Iteration> iterations(2);
  for (std::size_t i = 0; i < 2; ++i) iterations[i] = {0, 1'000'000, {}, {}, {10, 100'000}, {}, i == 0 ? 3 : 5};
  const auto profile = test::profile_of(iterations);
  const run::IterationProfiles profiles = profiles_of(profile);
  for (const Iteration& it : iterations)
    EXPECT_EQ(profiles.totals_of(0, test::vector_of(it)).ticks_lost, it.ticks_lost);
}

TEST(IterationProfile, time_is_conserved_and_counts_are_exact) {
  std::mt19937 random(7);
  for (const std::int32_t clusters : {1, 4, 50, 200}) {
    const auto iterations = random_iterations(random, clusters);
    experiment::Profile profile = test::profile_of(iterations);
    profile.ranks[0].locations[0].loops[0].clusters[0].overflow = true;
    profile.ranks[0].call_cost.median = 30;
    profile.ranks[0].tick_cost.median = 2'000;
    const run::IterationProfiles profiles = profiles_of(profile);
    for (const Iteration& it : iterations) {
      const auto unit = profiles.unit_of(&it - iterations.data(), it.cluster, test::vector_of(it));
      const run::UnitTimes times = run::apply_time_rules(unit, profile.paths, profiles.constants());
      ASSERT_EQ(exclusive_sum(times), it.wall);
      ASSERT_EQ(times.mpi, it.send[1] + it.allreduce[1]);
      ASSERT_EQ(times.mpi_no_path, 0);
      ASSERT_EQ(sum_of(profile, unit, MetricId::Visits), it.send[0] + it.allreduce[0]);
      ASSERT_EQ(sum_of(profile, unit, MetricId::BytesSent), it.send[3] + it.allreduce[3]);
      ASSERT_EQ(sum_of(profile, unit, MetricId::MessagesReceived), it.send[4] + it.allreduce[4]);
      for (const std::int64_t value : unit.columns) ASSERT_GE(value, 0);
      for (std::size_t r = 1; r < unit.values.size(); ++r) ASSERT_LT(unit.values[r - 1].path, unit.values[r].path);
    }
  }
}

/// Slopes of any size, as few iterations may have taught them.
void learn_random_slopes(std::mt19937& random, experiment::Loop& loop) {
  loop.scales_with = test::scales_with();
  std::normal_distribution<float> any(0, 3);
  experiment::ClassSlopes& slopes = loop.slopes.emplace_back();
  for (const std::uint32_t path : {test::send, test::allreduce}) {
    experiment::PathSlopes& of = slopes.paths.emplace_back();
    of.path = path;
    for (float& slope : of.first) slope = any(random);
    for (float& slope : of.second) slope = 100 * any(random);
  }
}

TEST(IterationProfile, it_is_so_with_learned_slopes_and_recorded_samples) {
  std::mt19937 random(17);
  const auto iterations = random_iterations(random, 4);
  experiment::Profile profile = test::profile_of(iterations);
  learn_random_slopes(random, profile.ranks[0].locations[0].loops[0]);
  const run::IterationProfiles profiles = profiles_of(profile);
  const std::vector<run::SampledPath> recorded = {{test::function_20, 3}};
  for (const Iteration& it : iterations) {
    const auto unit = profiles.unit_of(&it - iterations.data(), it.cluster, test::vector_of(it), &recorded);
    ASSERT_EQ(exclusive_sum(run::apply_time_rules(unit, profile.paths, profiles.constants())), it.wall);
    ASSERT_EQ(sum_of(profile, unit, MetricId::Visits), it.send[0] + it.allreduce[0]);
    ASSERT_EQ(sum_of(profile, unit, MetricId::BytesSent), it.send[3] + it.allreduce[3]);
    ASSERT_EQ(sum_of(profile, unit, MetricId::BytesReceived), it.send[5] + it.allreduce[5]);
    for (const std::int64_t value : unit.columns) ASSERT_GE(value, 0);
    ASSERT_EQ(value_at(profile, unit, test::function_20, MetricId::Samples), 3);
    ASSERT_EQ(value_at(profile, unit, test::function_10, MetricId::Samples), 0);
  }
}

TEST(IterationProfile, learned_slopes_tell_calls_of_one_size_from_one_call_of_any_size) {
  std::vector<Iteration> iterations;
  for (std::int64_t i = 0; i < 60; ++i) {
    const std::int64_t messages = 1 + i * 7 % 5, size = 1000 + 37 * (i * 13 % 101);
    iterations.push_back({0, 100'000, {messages, 10, messages, 400 * messages, 0, 0}, {1, 10, 1, size, 0, 0}, {}, {}});
  }
  experiment::Profile profile = test::profile_of(iterations);
  experiment::Loop& loop = profile.ranks[0].locations[0].loops[0];
  loop.scales_with = test::scales_with();
  experiment::PathSlopes of_send{test::send}, of_allreduce{test::allreduce};
  constexpr std::size_t bytes = format::column_of(MetricId::BytesSent);
  of_send.first[format::column_of(MetricId::Visits)] = of_send.first[format::column_of(MetricId::MessagesSent)] = 1;
  of_send.second[bytes] = 400;
  of_allreduce.first[bytes] = 1;
  of_allreduce.second[bytes] = -400;
  loop.slopes = {{0, {of_send, of_allreduce}}};
  const run::IterationProfiles profiles = profiles_of(profile);
  run::PathSelection sends{std::vector<bool>(test::path_count, false), false, false, false, false};
  sends.paths[test::send] = true;
  const auto sent = run::value_of_callpaths(profiles, sends, "bytes_sent");
  for (const Iteration& it : iterations) {
    const auto unit = profiles.unit_of(0, 0, test::vector_of(it));
    EXPECT_EQ(value_at(profile, unit, test::send, MetricId::Visits), it.send[0]);
    EXPECT_EQ(value_at(profile, unit, test::send, MetricId::BytesSent), it.send[3]);
    EXPECT_EQ(value_at(profile, unit, test::allreduce, MetricId::BytesSent), it.allreduce[3]);
    EXPECT_EQ(sent(0, 0, test::vector_of(it)), static_cast<double>(it.send[3]));
  }
}

TEST(IterationProfile, a_cluster_of_one_member_is_its_iteration) {
  Iteration it{0, 5'000, {3, 700, 4, 24, 2, 48}, {1, 300, 0, 0, 0, 0}, {9, 9'000}, {4, 100}};
  Iteration other = it;
  other.cluster = 1;
  other.function_10 = {1, 10};
  const experiment::Profile profile = test::profile_of({it, other, other});
  const run::IterationProfiles profiles = profiles_of(profile);
  EXPECT_TRUE(profiles.is_exact(0));
  EXPECT_FALSE(profiles.is_exact(1));
  const auto unit = profiles.unit_of(0, 0, test::vector_of(it));
  const auto truth = test::unit_of(it);
  EXPECT_EQ(unit.columns, truth.columns);
  EXPECT_EQ(unit.weight_user_ns, truth.weight_user_ns);
  EXPECT_EQ(unit.wall, truth.wall);
  ASSERT_EQ(unit.values.size(), truth.values.size());
  // And so do its chosen call paths, column by column.
  run::PathSelection sends{std::vector<bool>(test::path_count, false), false, false, false, false};
  sends.paths[test::send] = true;
  const auto of_sends = [&](const char* metric) {
    return run::value_of_callpaths(profiles, sends, metric)(0, 0, test::vector_of(it));
  };
  EXPECT_EQ(of_sends("mpi_calls"), 3);
  EXPECT_DOUBLE_EQ(of_sends("mpi"), 700e-9);
  EXPECT_EQ(of_sends("messages_sent"), 4);
  EXPECT_EQ(of_sends("bytes_sent"), 24);
  EXPECT_EQ(of_sends("messages_received"), 2);
  EXPECT_EQ(of_sends("bytes_received"), 48);
}

TEST(IterationProfile, without_samples_of_its_own_user_code_is_divided_as_in_the_class) {
  std::vector<Iteration> iterations(41, Iteration{0, 5'000, {3, 1'000, 3, 24, 0, 0}, {}, {3, 3'000}, {1, 1'000}});
  iterations[40] = {1, 9'000, {3, 1'000, 3, 24, 0, 0}, {}, {}, {}};
  const experiment::Profile profile = test::profile_of(iterations);
  const run::IterationProfiles profiles = profiles_of(profile);
  const auto unit = profiles.unit_of(40, 1, test::vector_of(iterations[40]));
  EXPECT_EQ(value_at(profile, unit, test::send, MetricId::Time), 1'000);
  const run::UnitTimes times = run::apply_time_rules(unit, profile.paths, profiles.constants());
  EXPECT_EQ(exclusive_sum(times), 9'000);
  EXPECT_EQ(times.no_sample, 0);
  ASSERT_EQ(times.user_paths.size(), 2U);
  EXPECT_NEAR(static_cast<double>(times.user_paths[0].ticks), 6'000, 2);
  EXPECT_NEAR(static_cast<double>(times.user_paths[1].ticks), 2'000, 2);
}

TEST(IterationProfile, a_path_that_never_changes_keeps_its_calls_when_another_one_grows) {
  std::vector<Iteration> iterations;
  for (std::int32_t cluster = 0; cluster < 5; ++cluster)
    for (int i = 0; i < 20; ++i)
      iterations.push_back({cluster, 100'000, {100 * cluster + i, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0}, {}, {}});
  const experiment::Profile profile = test::profile_of(iterations);
  const run::IterationProfiles profiles = profiles_of(profile);
  for (const Iteration& it : iterations) {
    const auto unit = profiles.unit_of(&it - iterations.data(), it.cluster, test::vector_of(it));
    EXPECT_EQ(value_at(profile, unit, test::allreduce, MetricId::Visits), 1) << it.send[0];
    EXPECT_EQ(value_at(profile, unit, test::send, MetricId::Visits), it.send[0]);
  }
}

TEST(IterationProfile, an_iteration_without_cluster_has_its_totals) {
  const Iteration it{-1, 5'000, {3, 700, 3, 24, 0, 0}, {}, {}, {}};
  const experiment::Profile profile = test::profile_of({it});
  const run::IterationProfiles profiles = profiles_of(profile);
  const auto unit = profiles.unit_of(0, -1, test::vector_of(it));
  const run::UnitTimes times = run::apply_time_rules(unit, profile.paths, profiles.constants());
  EXPECT_EQ(exclusive_sum(times), 5'000);
  EXPECT_EQ(times.mpi_no_path, 700);
  EXPECT_TRUE(unit.values.empty());
  EXPECT_EQ(profiles.cluster_unit(-1), nullptr);
}

TEST(IterationProfile, lost_mpi_paths_stay_lost) {
  Iteration it{0, 5'000, {3, 600, 3, 24, 0, 0}, {}, {}, {}};
  experiment::Profile profile = test::profile_of({it, it});
  profile.ranks[0].locations[0].units[0].mpi = 1'600;  // 1,200 of it have a call path
  auto vector = test::vector_of(it);
  vector[1] = 800;
  const run::IterationProfiles profiles = profiles_of(profile);
  const run::UnitTimes times =
      run::apply_time_rules(profiles.unit_of(0, 0, vector), profile.paths, profiles.constants());
  EXPECT_EQ(exclusive_sum(times), 5'000);
  EXPECT_EQ(times.mpi_no_path, 200);
}

run::PathSelection only(std::uint32_t path) {
  run::PathSelection selection;
  selection.paths.resize(test::path_count);
  selection.paths[path] = true;
  return selection;
}

TEST(IterationMetrics, selected_paths_have_what_the_profile_of_the_iteration_has) {
  std::mt19937 random(23);
  const auto iterations = random_iterations(random, 4);
  experiment::Profile profile = test::profile_of(iterations);
  profile.ranks[0].locations[0].units[1].mpi *= 2;  // the other half has lost its call paths
  for (const bool learned : {false, true}) {
    if (learned) learn_random_slopes(random, profile.ranks[0].locations[0].loops[0]);
    const run::IterationProfiles profiles = profiles_of(profile);
    for (const std::uint32_t path : {test::send, test::allreduce}) {
      const run::PathSelection selection = only(path);
      const run::IterationProfiles::Selected selected(profiles, selection);
      for (const Iteration& it : iterations) {
        const auto row = test::vector_of(it);
        const auto unit = profiles.unit_of(0, it.cluster, row);
        for (const auto metric : {MetricId::Visits, MetricId::Time, MetricId::MessagesSent, MetricId::BytesSent})
          ASSERT_EQ(selected.mpi(metric, it.cluster, row), static_cast<double>(value_at(profile, unit, path, metric)));
      }
    }
  }
}

TEST(IterationMetrics, mpi_without_a_call_path_is_what_the_time_rules_leave) {
  const Iteration it{0, 5'000, {3, 600, 3, 24, 0, 0}, {}, {}, {}};
  experiment::Profile profile = test::profile_of({it, it});
  profile.ranks[0].locations[0].units[0].mpi = 1'600;  // 1,200 of it have a call path
  auto row = test::vector_of(it);
  row[1] = 800;
  const run::IterationProfiles profiles = profiles_of(profile);
  run::PathSelection selection{std::vector<bool>(test::path_count), false, false, false, true, false};
  const run::IterationProfiles::Selected selected(profiles, selection);
  EXPECT_EQ(selected.mpi(MetricId::Time, 0, row), 200);
  EXPECT_EQ(selected.mpi(MetricId::Time, -1, row), 800) << "no cluster, no call path";
}

TEST(IterationMetrics, time_off_the_cpu_without_a_call_path_is_given_to_none) {
  const Iteration it{0, 5'000, {3, 600, 3, 24, 0, 0}, {}, {}, {}},
      alone{1, 5'000, {3, 600, 3, 24, 0, 0}, {}, {20, 900}, {}};
  experiment::Profile profile = test::profile_of({it, it, alone});
  experiment::Location& location = profile.ranks[0].locations[0];
  profile.ranks[0].off_cpu_of_calls_is_counted = true;
  location.loops[0].metrics.push_back({"off_cpu_mpi", "ns", format::Precision::Exact});
  for (experiment::Unit& unit : location.units) {
    for (const auto& values : unit.values)
      if (values.path == test::send) unit.columns[values.first + run::off_cpu_column] = 300;
    unit.off_mpi_ns = 400;
  }
  const run::IterationProfiles profiles = profiles_of(profile);
  ASSERT_TRUE(profiles.is_exact(1));
  auto row = test::vector_of(it);
  row.push_back(200);
  EXPECT_EQ(value_at(profile, profiles.unit_of(0, 0, row), test::send, MetricId::OffCpuMpi), 150);
  run::PathSelection sends = only(test::send), none;
  none.mpi_without_path = true;
  const run::IterationProfiles::Selected of_sends(profiles, sends), without_path(profiles, none);
  EXPECT_EQ(of_sends.mpi(MetricId::OffCpuMpi, 0, row), 150);
  EXPECT_EQ(without_path.mpi(MetricId::OffCpuMpi, 0, row), 50);
  EXPECT_EQ(of_sends.mpi(MetricId::OffCpuMpi, 1, row), 300);
  EXPECT_EQ(without_path.mpi(MetricId::OffCpuMpi, 1, row), 100);
  EXPECT_EQ(without_path.mpi(MetricId::OffCpuMpi, -1, row), 200) << "no cluster, no call path";
}

TEST(ClusterDifferences, a_cluster_has_no_more_iterations_than_members) {
  std::vector<Iteration> iterations(100, Iteration{0, 1'000'000, {1, 100, 1, 8, 0, 0}, {}, {20, 900'000}, {}});
  for (const std::size_t i : {70U, 80U}) iterations[i] = {1, 9'000'000, {1, 100, 1, 8, 0, 0}, {}, {}, {90, 8'900'000}};
  const experiment::Profile profile = test::profile_of(iterations);
  Symbolizer symbolizer;
  const CallTree tree = build_call_tree(profile, symbolizer);
  const run::IterationProfiles profiles = profiles_of(profile);
  const std::vector<double> all{0, 2}, logged{0, 16};
  const auto of_all = differences_of(profiles, tree, all), of_logged = differences_of(profiles, tree, logged);
  ASSERT_FALSE(of_all.empty());
  ASSERT_EQ(of_all.size(), of_logged.size());
  for (std::size_t i = 0; i < of_all.size(); ++i) {
    EXPECT_EQ(of_all[i].node, of_logged[i].node);
    EXPECT_EQ(of_all[i].cluster_mean, of_logged[i].cluster_mean);
    EXPECT_EQ(of_all[i].loop_mean, of_logged[i].loop_mean);
  }
}

TEST(IterationMetrics, times_add_up_where_the_log_keeps_one_of_several) {
  std::vector<Iteration> iterations(200, Iteration{0, 1'000, {1, 100, 1, 8, 0, 0}, {}, {}, {}});
  const std::uint64_t slow = format::KeptIterations{3}.in_block(10);  // a cluster of its own, kept of 80 to 87
  iterations[slow].cluster = 1;
  iterations[slow].wall = 10'000'000;
  experiment::Profile profile = test::profile_of(iterations);
  test::add_log(profile.ranks[0].locations[0].loops[0], iterations, 16);
  const run::IterationProfiles profiles = profiles_of(profile);
  const auto user = run::value_of_metric(profiles, "user");
  double sum = 0;
  run::for_each_iteration(profiles.loop(), [&](std::int64_t i, std::int32_t cluster, auto row) {
    const double user_s = user(i, cluster, row);
    EXPECT_DOUBLE_EQ(user_s, static_cast<std::uint64_t>(i) == slow ? 9'999'900e-9 : 900e-9) << i;
    sum += user_s;
  });
  EXPECT_NEAR(sum, 9'999'900e-9 + 199 * 900e-9, 1e-9);
}

TEST(IterationMetrics, how_well_a_value_is_known_is_told) {
  const std::vector<Iteration> iterations = {{0, 5'000, {3, 700, 4, 24, 2, 48}, {}, {9, 900}, {}},
                                             {0, 6'000, {3, 800, 4, 24, 2, 48}, {}, {9, 900}, {}},
                                             {1, 7'000, {3, 900, 4, 24, 2, 48}, {}, {9, 900}, {}}};
  const experiment::Profile profile = test::profile_of(iterations);
  const run::IterationProfiles profiles = profiles_of(profile);
  const auto known = [&](const run::PathSelection& selection, const char* metric, std::size_t i) {
    const auto row = test::vector_of(iterations[i]);
    return run::known_of_callpaths(profiles, selection, metric)(static_cast<std::int64_t>(i), iterations[i].cluster,
                                                                row);
  };
  const run::PathSelection sends = only(test::send), code = only(test::function_10);
  EXPECT_EQ(known(sends, "mpi", 0), static_cast<double>(run::Known::Reconstructed));
  EXPECT_EQ(known(sends, "mpi", 2), static_cast<double>(run::Known::Exact)) << "alone in its cluster";
  EXPECT_EQ(known(code, "user", 0), static_cast<double>(run::Known::Sampled));
  EXPECT_EQ(known(code, "wall", 2), static_cast<double>(run::Known::Sampled));
  EXPECT_EQ(known(sends, "bytes_sent", 1), static_cast<double>(run::Known::Reconstructed));
}

TEST(IterationMetrics, selected_paths_add_up_to_what_is_there) {
  std::mt19937 random(11);
  const auto iterations = random_iterations(random, 6);
  const experiment::Profile profile = test::profile_of(iterations);
  const run::IterationProfiles profiles = profiles_of(profile);
  run::PathSelection everything{std::vector<bool>(test::path_count, true), true, true, true, true};
  run::PathSelection sends{std::vector<bool>(test::path_count, false), false, false, false, false};
  sends.paths[test::send] = true;
  const auto wall = run::value_of_callpaths(profiles, everything, "wall");
  const auto calls = run::value_of_callpaths(profiles, everything, "mpi_calls");
  const auto time = run::value_of_callpaths(profiles, sends, "mpi");
  const auto user = run::value_of_callpaths(profiles, sends, "user");
  double sent = 0, truth = 0;
  for (const Iteration& it : iterations) {
    const auto row = test::vector_of(it);
    EXPECT_NEAR(wall(0, it.cluster, row), static_cast<double>(it.wall) * 1e-9, 2e-8);
    EXPECT_EQ(calls(0, it.cluster, row), static_cast<double>(it.send[0] + it.allreduce[0]));
    EXPECT_EQ(user(0, it.cluster, row), 0);
    sent += time(0, it.cluster, row);
    truth += static_cast<double>(it.send[1]) * 1e-9;
  }
  EXPECT_NEAR(sent, truth, 0.03 * truth);
}

TEST(IterationMetrics, vectors_and_time_rules_give_the_metrics_of_an_iteration) {
  const experiment::Profile profile = test::profile_of({{0, 5'000, {3, 700, 3, 24, 0, 0}, {}, {}, {}}});
  const run::IterationProfiles profiles = profiles_of(profile);
  std::vector<std::string> names, columns;
  for (const auto& metric : run::iteration_metrics(profiles.loop())) {
    names.push_back(metric.name);
    columns.push_back(metric.column());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"wall", "mpi_calls", "mpi", "user", "cpu", "off_cpu", "refrain",
                                             "messages_sent", "bytes_sent", "messages_received", "bytes_received",
                                             "samples", "samples_mpi", "ticks_without_sample"}));
  EXPECT_EQ(columns[0], "wall_s");
  EXPECT_EQ(columns[8], "bytes_sent");
  const std::vector<std::int64_t> row = {5'000, 700, 0, 5'000, 3, 3, 24, 0, 0, 0, 0, 0, 0};
  EXPECT_DOUBLE_EQ(run::value_of_metric(profiles, "user")(0, 0, row), 4'300e-9);
  EXPECT_DOUBLE_EQ(run::value_of_metric(profiles, "bytes_sent")(0, 0, row), 24);
  EXPECT_DOUBLE_EQ(run::value_of_metric(profiles, "off_cpu")(0, 0, row), 0);
  EXPECT_FALSE(run::value_of_metric(profiles, "weather"));
}

/// Calls of a, b::solve(int) and solve below each other.
CallTree small_tree() {
  CallTree tree;
  tree.nodes.resize(1);
  const auto add = [&](std::int32_t parent, const char* name) {
    TreeNode node;
    node.parent = parent;
    node.name = name;
    tree.nodes[static_cast<std::size_t>(parent)].children.push_back(static_cast<std::uint32_t>(tree.nodes.size()));
    tree.nodes.push_back(node);
    tree.node_of.push_back(static_cast<std::uint32_t>(tree.nodes.size() - 1));
  };
  tree.node_of = {0};
  add(0, "main");                  // 1
  add(1, "b::solve(Grid&, int)");  // 2
  add(2, "MPI_Allreduce");         // 3
  add(1, "output");                // 4
  add(4, "MPI_Allreduce");         // 5
  add(2, "b::solve(Grid&, int)");  // 6
  add(0, run::not_on_cpu_name);    // 7
  return tree;
}

TEST(CallPathMatch, last_names_choose_call_paths_and_what_is_below) {
  const CallTree tree = small_tree();
  using Nodes = std::vector<std::uint32_t>;
  EXPECT_EQ(match_callpath(tree, "MPI_Allreduce").nodes, (Nodes{3, 5}));
  EXPECT_EQ(match_callpath(tree, "main/output/MPI_Allreduce").nodes, (Nodes{5}));
  EXPECT_EQ(match_callpath(tree, "output/MPI_Allreduce").nodes, (Nodes{5}));
  EXPECT_EQ(match_callpath(tree, "/main").nodes, (Nodes{1}));
  EXPECT_EQ(match_callpath(tree, "b::solve").nodes, (Nodes{2})) << "the outermost of a recursion";
  EXPECT_EQ(match_callpath(tree, "b::solve(Grid&, int)").nodes, (Nodes{2}));
  EXPECT_EQ(match_callpath(tree, "b::solve/MPI_Allreduce").nodes, (Nodes{3}));
  const CallPathMatch solve = match_callpath(tree, "b::solve");
  EXPECT_EQ(solve.selection.paths, (std::vector<bool>{false, false, true, true, false, false, true, false}));
  EXPECT_TRUE(match_callpath(tree, "(not on CPU)").selection.not_on_cpu);
  for (const char* wrong : {"put", "", "/", "Allreduce", "main/MPI_Allreduce"})
    EXPECT_TRUE(match_callpath(tree, wrong).nodes.empty()) << wrong;
}

TEST(CallPathMatch, what_reports_print_is_understood) {
  const CallTree tree = small_tree();
  using Nodes = std::vector<std::uint32_t>;
  EXPECT_EQ(match_callpath(tree, "main;output;MPI_Allreduce").nodes, (Nodes{5})) << "CSV";
  EXPECT_EQ(match_callpath(tree, "main;b::solve(Grid&, int);MPI_Allreduce").nodes, (Nodes{3}));
  EXPECT_EQ(match_callpath(tree, "main > output").nodes, (Nodes{4})) << "patterns";
  EXPECT_EQ(match_callpath(tree, "b::solve(…)/MPI_Allreduce").nodes, (Nodes{3})) << "narrow terminals";
  EXPECT_EQ(similar_functions(tree, "main;MPI_Alreduce", 5), (std::vector<std::string>{"MPI_Allreduce"}));
}

TEST(CallPathMatch, the_root_is_everything) {
  const CallTree tree = small_tree();
  using Nodes = std::vector<std::uint32_t>;
  const CallPathMatch all = match_callpath(tree, "heat", "heat");
  EXPECT_EQ(all.nodes, (Nodes{0}));
  EXPECT_TRUE(all.selection.everything);
  EXPECT_EQ(all.selection.paths, std::vector<bool>(tree.node_of.size(), true));
  EXPECT_EQ(match_callpath(tree, "heat/main/output", "heat").nodes, (Nodes{4}));
  EXPECT_EQ(match_callpath(tree, "heat;main", "heat").nodes, (Nodes{1}));
  EXPECT_EQ(match_callpath(tree, "output", "output").nodes, (Nodes{4})) << "a function of the program's name";
  EXPECT_FALSE(match_callpath(tree, "output", "output").selection.everything);
  for (const char* wrong : {"heat/output", "eat", "heat/"})
    EXPECT_TRUE(match_callpath(tree, wrong, "heat").nodes.empty()) << wrong;
}

TEST(CallPathMatch, near_names_are_offered) {
  const CallTree tree = small_tree();
  EXPECT_EQ(similar_functions(tree, "main/MPI_Alreduce", 5), (std::vector<std::string>{"MPI_Allreduce"}));
  EXPECT_EQ(similar_functions(tree, "Solve", 5), (std::vector<std::string>{"b::solve(Grid&, int)"}));
  EXPECT_TRUE(similar_functions(tree, "xyzzyplugh", 5).empty());
  const auto elsewhere = similar_functions(tree, "main/MPI_Allreduce", 5);
  ASSERT_FALSE(elsewhere.empty());
  EXPECT_EQ(elsewhere[0], "main/b::solve(Grid&, int)/MPI_Allreduce") << "not just the name that was asked for";
}

TEST(ClusterDifferences, a_slow_function_is_named) {
  std::vector<Iteration> iterations;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t slow = i % 50 == 49;
    iterations.push_back({slow ? 1 : 0,
                          1'000'000 + slow * 4'000'000,
                          {1, 200'000, 1, 8, 0, 0},
                          {},
                          {20 * (1 + slow * 9), 20'000 * (1 + slow * 9)},
                          {40, 40'000}});
  }
  const experiment::Profile profile = test::profile_of(iterations);
  Symbolizer symbolizer;
  const CallTree tree = build_call_tree(profile, symbolizer);
  const auto summaries = summarise_clusters(profiles_of(profile), tree);
  ASSERT_EQ(summaries.size(), 2U);
  EXPECT_NEAR(summaries[1].mean_wall_s, 0.005, 1e-9);
  EXPECT_EQ(summaries[1].deviation_wall_s, 0);
  EXPECT_NEAR(summaries[0].share + summaries[1].share, 1, 1e-12);
  ASSERT_FALSE(summaries[1].differences.empty());
  const ClusterDifference& most = summaries[1].differences[0];
  EXPECT_EQ(path_to(tree, most.node), (std::vector<std::string>{"0x10"}));
  EXPECT_EQ(most.metric, "time");
  EXPECT_GT(most.cluster_mean, 4 * most.loop_mean);
}

TEST(ClusterDifferences, calls_that_others_do_not_make_are_named) {
  std::vector<Iteration> iterations(30, {0, 1'000, {1, 10, 1, 8, 0, 0}, {}, {}, {}});
  for (int i = 0; i < 3; ++i) iterations.push_back({1, 1'000, {1, 10, 1, 8, 0, 0}, {2, 1, 0, 0, 0, 0}, {}, {}});
  const experiment::Profile profile = test::profile_of(iterations);
  Symbolizer symbolizer;
  const CallTree tree = build_call_tree(profile, symbolizer);
  const auto summaries = summarise_clusters(profiles_of(profile), tree);
  ASSERT_EQ(summaries[1].differences.size(), 1U);
  EXPECT_EQ(summaries[1].differences[0].metric, "calls");
  EXPECT_EQ(path_to(tree, summaries[1].differences[0].node).back(), "MPI_Allreduce");
  EXPECT_EQ(summaries[1].differences[0].cluster_mean, 2);
  EXPECT_TRUE(summaries[0].differences.empty()) << "most do not make them";
}

TEST(ClusterDifferences, calls_that_others_make_are_missed) {
  std::vector<Iteration> iterations;
  // Most make two calls, in two clusters of which none has more than half of the iterations.
  for (int i = 0; i < 20; ++i)
    iterations.push_back({i % 2, 1'000 + i % 2, {1, 10, 1, 8, 0, 0}, {2, 1, 0, 0, 0, 0}, {}, {}});
  for (int i = 0; i < 15; ++i) iterations.push_back({2, 1'000, {1, 10, 1, 8, 0, 0}, {}, {}, {}});
  const experiment::Profile profile = test::profile_of(iterations);
  Symbolizer symbolizer;
  const CallTree tree = build_call_tree(profile, symbolizer);
  const auto summaries = summarise_clusters(profiles_of(profile), tree);
  EXPECT_TRUE(summaries[0].differences.empty());
  EXPECT_TRUE(summaries[1].differences.empty());
  ASSERT_EQ(summaries[2].differences.size(), 1U);
  EXPECT_EQ(path_to(tree, summaries[2].differences[0].node).back(), "MPI_Allreduce");
  EXPECT_EQ(summaries[2].differences[0].cluster_mean, 0);
}

TEST(ClusterDifferences, chance_in_few_samples_is_no_difference) {
  std::vector<Iteration> iterations(200, {0, 10'000, {}, {}, {1, 1'000}, {1, 1'000}});
  iterations.push_back({1, 10'000, {}, {}, {2, 2'000}, {}});
  const experiment::Profile profile = test::profile_of(iterations);
  Symbolizer symbolizer;
  const CallTree tree = build_call_tree(profile, symbolizer);
  EXPECT_TRUE(summarise_clusters(profiles_of(profile), tree)[1].differences.empty());
}

TEST(RoundToTotal, parts_are_within_1_of_their_shares_and_add_up) {
  std::mt19937_64 random(1);
  std::vector<std::int64_t> out;
  std::vector<format::Remainder> room;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<double> values(1 + random() % 40);
    double sum = 0;
    for (double& value : values) {
      value = random() % 4 == 0
                  ? 0
                  : std::ldexp(static_cast<double>(random() % 1'000'000), static_cast<int>(random() % 20));
      sum += value;
    }
    // Small ones are shared in floating point, large ones in integers.
    const auto total = static_cast<std::int64_t>(random() >> (random() % 60 + 4));
    run::iteration_values::round_to_total(total, values, out, room);
    if (sum == 0) continue;
    ASSERT_EQ(total, std::accumulate(out.begin(), out.end(), std::int64_t{0}));
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double share = values[k] / sum * static_cast<double>(total);
      ASSERT_NEAR(share, static_cast<double>(out[k]), 1.01 + share * 1e-12) << total;
      ASSERT_TRUE(values[k] > 0 || out[k] == 0);
    }
  }
}

}  // namespace
}  // namespace refrain::analysis

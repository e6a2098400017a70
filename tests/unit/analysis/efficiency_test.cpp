// Efficiency metrics: examples by hand, the products that are exact, and balanced ranks of which there are estimates.
#include "offline/analysis/efficiency.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace refrain::analysis {
namespace {

/// `errs_with`: estimates of the same number err together.
run::Estimate estimate_of(double seconds, double error_s, std::int64_t errs_with) {
  run::Estimate of{.seconds = seconds};
  of.replicates.add(run::signs_of(1, errs_with), 1e9 * error_s);
  return of;
}

RankTimes rank_of(std::size_t machine, double useful_s, double mpi_s, std::optional<double> wait_s = {},
                  double error_s = 0) {
  static std::int64_t ranks = 0;
  RankTimes of;
  of.machine = machine;
  of.useful = {useful_s, 0};
  of.mpi_s = mpi_s;
  if (wait_s) of.wait = estimate_of(*wait_s, error_s, ++ranks);
  return of;
}

constexpr double exact = 1e-9;

void expect_products(const Efficiency& of) {
  EXPECT_NEAR(of.parallel.value, of.load_balance.value * of.communication.value, exact);
  EXPECT_NEAR(of.load_balance.value, of.across_machines * of.within_machines, exact);
  EXPECT_NEAR(of.parallel.value, of.additive.load_balance + of.additive.communication - 1, exact);
  if (of.serialisation) {
    EXPECT_NEAR(of.communication.value, of.serialisation->value * of.transfer->value, exact);
    EXPECT_NEAR(of.additive.communication, *of.additive.serialisation + *of.additive.transfer - 1, exact);
  }
  if (of.availability && of.blocked) {
    EXPECT_NEAR(1, *of.availability + *of.waited_for_core + *of.blocked, exact);
  }
  if (of.hybrid) {
    EXPECT_NEAR(of.hybrid->parallel, of.parallel.value * of.hybrid->threads_multiplicative, exact);
    EXPECT_NEAR(of.hybrid->parallel, of.parallel.value + of.hybrid->threads_additive - 1, exact);
  }
}

TEST(Efficiency, a_rank_that_works_less_and_waits_lacks_load_balance) {
  const RankTimes ranks[] = {rank_of(0, 8, 2, 1), rank_of(0, 4, 6, 5)};
  const auto of = efficiency_of(ranks);
  ASSERT_TRUE(of);
  EXPECT_NEAR(of->elapsed_s, 10, exact);
  EXPECT_NEAR(of->parallel.value, .6, exact);
  EXPECT_NEAR(of->load_balance.value, .75, exact);
  EXPECT_NEAR(of->communication.value, .8, exact);
  // Without transfer both ranks take 9 s.
  EXPECT_NEAR(of->serialisation->value, 8 / 9., exact);
  EXPECT_NEAR(of->transfer->value, .9, exact);
  EXPECT_EQ(of->serialisation->error, 0);
  EXPECT_EQ(of->ideal_by, IdealBy::Exact);
  expect_products(*of);
}

TEST(Efficiency, ranks_that_work_in_turn_lack_serialisation) {
  const RankTimes ranks[] = {rank_of(0, 6, 4, 4), rank_of(0, 4, 6, 6)};
  const auto of = efficiency_of(ranks);
  ASSERT_TRUE(of);
  EXPECT_NEAR(of->serialisation->value, .6, exact);
  EXPECT_NEAR(of->transfer->value, 1, exact);
}

TEST(Efficiency, io_is_no_transfer) {
  RankTimes ranks[] = {rank_of(0, 6, 4, 0), rank_of(0, 6, 4, 0)};
  for (RankTimes& of : ranks) of.io_s = 3;
  const auto of = efficiency_of(ranks);
  ASSERT_TRUE(of);
  EXPECT_NEAR(of->serialisation->value, 6 / 9., exact);
  EXPECT_NEAR(of->transfer->value, .9, exact);
}

TEST(Efficiency, machines_and_ranks_within_them_share_the_load_balance) {
  const RankTimes ranks[] = {rank_of(0, 10, 0), rank_of(0, 6, 4), rank_of(1, 4, 6), rank_of(1, 4, 6)};
  const auto of = efficiency_of(ranks);
  ASSERT_TRUE(of);
  EXPECT_EQ(of->machines, 2U);
  EXPECT_NEAR(of->across_machines, 6 / 8., exact);
  EXPECT_NEAR(of->within_machines, .8, exact);
  expect_products(*of);
}

TEST(Efficiency, one_rank_without_waits_makes_serialisation_and_transfer_unknown) {
  const RankTimes ranks[] = {rank_of(0, 8, 2, 1), rank_of(0, 4, 6)};
  const auto of = efficiency_of(ranks);
  ASSERT_TRUE(of);
  EXPECT_FALSE(of->serialisation || of->transfer || of->additive.serialisation || of->additive.transfer);
}

TEST(Efficiency, availability_stands_beside_useful_time) {
  RankTimes ranks[] = {rank_of(0, 8, 2), rank_of(0, 8, 2)};
  EXPECT_FALSE(efficiency_of(ranks)->availability);
  ranks[0].off_cpu_s = ranks[0].waited_for_core_s = 4;
  EXPECT_FALSE(efficiency_of(ranks)->availability) << "of one rank it is not known";
  ranks[1].off_cpu_s = 2;
  EXPECT_NEAR(*efficiency_of(ranks)->availability, 10 / 16., exact);
  EXPECT_FALSE(efficiency_of(ranks)->blocked) << "not told apart";
  ranks[1].waited_for_core_s = 0;
  const auto of = efficiency_of(ranks);
  EXPECT_NEAR(*of->availability, 10 / 16., exact);
  EXPECT_NEAR(*of->waited_for_core, .25, exact);
  EXPECT_NEAR(of->parallel.value, .8, exact) << "time without a core is useful time, too";
  expect_products(*of);
}

TEST(Efficiency, threads_that_work_half_the_time_halve_what_is_not_the_first_threads) {
  RankTimes ranks[] = {rank_of(0, 8, 2), rank_of(0, 8, 2)};
  EXPECT_FALSE(efficiency_of(ranks)->hybrid);
  for (RankTimes& of : ranks) of.workers_s = {4, 4, 4};
  const auto of = efficiency_of(ranks);
  ASSERT_TRUE(of->hybrid);
  EXPECT_EQ(of->hybrid->threads, 8U);
  EXPECT_NEAR(of->parallel.value, .8, exact);
  EXPECT_NEAR(of->hybrid->parallel, .5, exact);
  EXPECT_NEAR(of->hybrid->threads_multiplicative, .625, exact);
  EXPECT_NEAR(of->hybrid->threads_additive, .7, exact);
  expect_products(*of);
}

TEST(Efficiency, nothing_is_said_where_nothing_was_useful) {
  EXPECT_FALSE(efficiency_of({}));
  const RankTimes idle[] = {rank_of(0, 0, 1)};
  EXPECT_FALSE(efficiency_of(idle));
}

TEST(Efficiency, products_are_exact_whatever_the_times) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> part(0, 1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<RankTimes> ranks;
    const int count = 1 + static_cast<int>(part(random) * 40);
    for (int r = 0; r < count; ++r) {
      const double mpi_s = 5 * part(random);
      RankTimes of = rank_of(static_cast<std::size_t>(part(random) * 4), .1 + 10 * part(random), mpi_s,
                             2 * mpi_s * part(random), part(random));  // also more waiting than there is time
      of.off_cpu_s = of.useful.value * part(random);
      of.waited_for_core_s = *of.off_cpu_s * part(random);
      of.workers_s.assign(static_cast<std::size_t>(part(random) * 3), part(random));
      ranks.push_back(of);
    }
    const auto of = efficiency_of(ranks);
    ASSERT_TRUE(of);
    expect_products(*of);
    for (const auto& factor : {*of->serialisation, *of->transfer, of->parallel, of->load_balance, of->communication}) {
      EXPECT_GT(factor.value, 0);
      EXPECT_LE(factor.value, 1 + exact);
    }
  }
}

/// Balanced ranks that wait 1 s each of 10 s, which is known with an error of 15 %.
std::vector<RankTimes> balanced(std::size_t count, bool has_halves, unsigned seed) {
  std::mt19937_64 random(seed);
  constexpr double useful_s = 8, wait_s = 1, error_s = .15;
  std::normal_distribution<double> estimate(wait_s, error_s), of_half(wait_s, error_s * std::sqrt(2.));
  std::vector<RankTimes> ranks;
  for (std::size_t r = 0; r < count; ++r) {
    RankTimes& of = ranks.emplace_back(rank_of(r / 64, useful_s, 2, estimate(random), error_s));
    if (!has_halves) continue;
    const double error_of_half_s = error_s * std::sqrt(2.);
    of.halves = {Measured{of_half(random), error_of_half_s}, Measured{of_half(random), error_of_half_s}};
  }
  return ranks;
}

TEST(Efficiency, balanced_ranks_whose_waits_are_estimates_have_no_bias) {
  for (const bool has_halves : {true, false}) {
    double sum = 0;
    constexpr int trials = 20;
    for (unsigned trial = 0; trial < trials; ++trial) {
      const auto of = efficiency_of(balanced(10'000, has_halves, trial));
      ASSERT_TRUE(of);
      EXPECT_EQ(of->ideal_by, has_halves ? IdealBy::Halves : IdealBy::Shrinking);
      sum += of->serialisation->value;
      // The largest of all estimates would be 9.58 s, and the serialisation 0.835.
      EXPECT_NEAR(of->serialisation->value, 8 / 9., .02 + 2 * of->serialisation->error);
    }
    EXPECT_NEAR(sum / trials, 8 / 9., .012) << (has_halves ? "halves" : "shrinking");
  }
}

TEST(Efficiency, a_rank_that_really_waits_longer_is_found_among_estimates) {
  for (const bool has_halves : {true, false}) {
    auto ranks = balanced(100, has_halves, 7);
    RankTimes& late = ranks[31];
    late.useful.value = 5;
    late.mpi_s = 6;
    late.wait = estimate_of(6, .15, 0);
    if (has_halves) late.halves = {Measured{6, .2}, Measured{6, .2}};
    EXPECT_NEAR(efficiency_of(ranks)->serialisation->value, 8 / 11., .05);
  }
}

TEST(Efficiency, ranks_whose_waits_err_together_are_not_drawn_to_each_other) {
  std::vector<RankTimes> ranks;
  for (int r = 0; r < 100; ++r) {
    ranks.push_back(rank_of(0, 8, 2, 1 + .002 * r));
    ranks.back().wait->replicates = estimate_of(0, .15, 5).replicates;
  }
  const auto of = efficiency_of(ranks);
  ASSERT_TRUE(of);
  EXPECT_EQ(of->ideal_by, IdealBy::Shrinking);
  EXPECT_NEAR(of->serialisation->value, 8 / 9.198, exact);
  EXPECT_NEAR(of->transfer->error, .015, 1e-6) << "that of each of them";
}

TEST(Efficiency, ranks_that_err_by_themselves_know_their_mean) {
  std::vector<RankTimes> ranks;
  for (int r = 0; r < 1'000; ++r) ranks.push_back(rank_of(0, 8, 2, 1, .15));
  const auto of = efficiency_of(ranks);
  ASSERT_TRUE(of);
  EXPECT_NEAR(of->serialisation->value, 8 / 9., exact);
  EXPECT_LT(of->transfer->error, .003) << "ten times less than one rank's";
}

TEST(Efficiency, sampled_useful_times_of_balanced_ranks_have_no_bias) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> estimate(8, .8);
  std::vector<RankTimes> ranks;
  for (int r = 0; r < 10'000; ++r) {
    ranks.push_back(rank_of(0, estimate(random), 2));
    ranks.back().useful.error = .8;
  }
  const auto of = efficiency_of(ranks);
  EXPECT_NEAR(of->load_balance.value, 1, .02);
  EXPECT_GT(of->load_balance.error, 0);
  expect_products(*of);
}

TEST(Efficiency, a_step_names_the_factor_that_got_worse_and_its_first_iteration) {
  std::vector<EfficiencyOfRange> ranges;
  for (std::int64_t i = 0; i < 32; ++i) {
    const double noise = i % 2 ? .005 : -.005, balance = i < 20 ? .9 : .6;
    ranges.push_back({10 * i, 10 * i + 9, (balance + noise) * .95, balance + noise, .95});
  }
  const auto step = step_of(ranges);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->from, 200);
  EXPECT_TRUE(step->is_load_balance);
  EXPECT_NEAR(step->before, .9 * .95, .01);
  EXPECT_NEAR(step->factor_after, .6, .01);
}

TEST(Efficiency, noise_is_no_step) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(.8, .05);
  std::vector<EfficiencyOfRange> ranges;
  for (std::int64_t i = 0; i < 32; ++i) {
    const double value = noise(random);
    ranges.push_back({i, i, value, value, 1});
  }
  EXPECT_FALSE(step_of(ranges));
  EXPECT_FALSE(step_of(std::span(ranges).first(3)));
}

SizedRun run_of(std::int64_t processes, double useful_s, double elapsed_s, double balance) {
  SizedRun run;
  run.processes = processes;
  run.useful_s = useful_s * static_cast<double>(processes);
  run.efficiency.elapsed_s = elapsed_s;
  run.efficiency.parallel.value = useful_s / elapsed_s;
  run.efficiency.load_balance.value = balance;
  run.efficiency.communication.value = useful_s / elapsed_s / balance;
  return run;
}

TEST(Scaling, global_efficiency_is_speedup_over_processes_for_both_kinds) {
  const SizedRun strong[] = {run_of(4, 3, 5, .8), run_of(2, 8, 10, 1), run_of(4, 3, 5, .8)};
  const auto points = scaling_points(strong, false);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].processes, 2);
  EXPECT_EQ(points[1].runs, 2);
  EXPECT_NEAR(points[0].computation_scaling.value, 1, exact);
  EXPECT_NEAR(points[0].global.value, points[0].parallel.value, exact);
  EXPECT_NEAR(points[1].computation_scaling.value, 16 / 12., exact);
  EXPECT_NEAR(points[1].global.value, .6 * 16 / 12., exact);
  EXPECT_NEAR(points[1].speedup, 2, exact);
  const SizedRun weak[] = {run_of(2, 8, 10, 1), run_of(8, 8, 12, .9)};
  const auto grown = scaling_points(weak, true);
  EXPECT_NEAR(grown[1].computation_scaling.value, 1, exact);
  EXPECT_NEAR(grown[1].speedup, 4 * 10 / 12., exact);
}

TEST(Scaling, counters_divide_computation_scaling_exactly) {
  SizedRun runs[] = {run_of(2, 8, 10, 1), run_of(8, 3, 5, 1), run_of(8, 3.2, 5, 1)};
  const double instructions[] = {32e9, 40e9, 44e9}, cycles[] = {40e9, 60e9, 61e9};
  for (std::size_t i = 0; i < 3; ++i) {
    runs[i].instructions = instructions[i];
    runs[i].cycles = cycles[i];
  }
  for (const bool is_weak : {false, true}) {
    const auto points = scaling_points(runs, is_weak);
    const auto& of = points[1].counters;
    ASSERT_TRUE(of);
    EXPECT_NEAR(points[1].computation_scaling.value,
                of->instruction_scaling.value * of->ipc_scaling.value * of->frequency_scaling.value, exact);
    EXPECT_NEAR(of->instruction_scaling.value, 32 / 42. * (is_weak ? 4 : 1), exact);
    EXPECT_GT(of->ipc_scaling.error, 0);
    EXPECT_EQ(points[0].counters->ipc_scaling.value, 1);
  }
  EXPECT_EQ(largest_loss(scaling_points(runs, false))->factor, "instruction scaling");
  runs[2].cycles.reset();
  EXPECT_FALSE(scaling_points(runs, false)[1].counters);
}

TEST(Scaling, runs_of_one_size_give_errors_and_the_largest_loss_is_named) {
  const SizedRun runs[] = {run_of(2, 8, 10, 1), run_of(8, 2, 3.9, .6), run_of(8, 2, 4.1, .6)};
  const auto points = scaling_points(runs, false);
  EXPECT_EQ(points[0].parallel.error, 0);
  EXPECT_GT(points[1].parallel.error, 0);
  EXPECT_NEAR(points[1].elapsed_deviation_s, .1 * std::sqrt(2.), exact);
  const auto loss = largest_loss(points);
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->factor, "load balance");
  EXPECT_NEAR(loss->left, .6, exact);
  EXPECT_FALSE(largest_loss(std::span(points).first(1)));
}

}  // namespace
}  // namespace refrain::analysis

// Each rule finds what is planted for it, and nothing in a program that is even but for chance.
#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "offline/findings/facts.hpp"
#include "offline/findings/finding.hpp"
#include "offline/findings/rules_of.hpp"
#include "offline/findings/sentence.hpp"
#include "tests/unit/analysis/loop_builder.hpp"
#include "tests/unit/analysis/loop_log.hpp"

namespace refrain::findings {
namespace {

using analysis::test::Iteration;
using run::PathKind;

/// Milliseconds of an iteration in functions 0x10 and 0x20.
struct Work {
  double usual = 10, more = 0;
};

/// A loop on some ranks, which meet after each iteration: so all take as long as the slowest one.
class Program {
 public:
  Program(std::size_t ranks, std::size_t iterations) : work_(ranks, std::vector<Work>(iterations)) {}

  Work& at(std::size_t rank, std::size_t iteration) { return work_[rank][iteration]; }
  /// All ranks take longer in MPI, as when the network is slow.
  void in_mpi(std::size_t iteration, double ms) { in_mpi_[iteration] = ms; }
  /// Some ranks have fewer iterations.
  Program& leave_out_from(std::size_t iteration, std::size_t ranks) {
    for (std::size_t r = 0; r < ranks; ++r) work_[r].resize(iteration);
    return *this;
  }
  /// No rank waits for another one: each takes as long as its own work.
  Program& without_waiting() {
    waits_ = false;
    return *this;
  }
  std::size_t ranks() const { return work_.size(); }
  std::size_t iterations() const { return work_.back().size(); }
  /// Each rank takes a few percent more or less at times, by chance.
  Program& add_noise(std::uint64_t seed, double relative) {
    std::mt19937_64 draw(seed);
    for (auto& rank : work_)
      for (Work& of : rank) of.usual *= 1 + relative * static_cast<double>(draw() >> 11) / 9007199254740992.0;
    return *this;
  }

  std::vector<Finding> found() const {
    const auto held = experiment();
    analysis::Symbolizer symbolizer;
    analysis::MinimumWaits minima(held->definitions());
    const analysis::CallTree tree = analysis::build_call_tree(*held, symbolizer, {});
    Facts facts{*held, tree, minima, {}};
    return find(facts);
  }

 private:
  std::shared_ptr<const experiment::Experiment> experiment() const {
    experiment::WholeExperiment whole;
    whole.profile = analysis::test::empty_profile();
    whole.profile.ranks_expected = static_cast<std::int32_t>(ranks());
    std::vector<double> slowest(iterations());
    for (const auto& rank : work_)
      for (std::size_t i = 0; i < rank.size(); ++i)
        slowest[i] = std::max(slowest[i], rank[i].usual + rank[i].more + in_mpi(i));
    for (std::size_t r = 0; r < ranks(); ++r) {
      experiment::Rank& rank = whole.profile.ranks.emplace_back();
      rank.rank = static_cast<std::int32_t>(r);
      rank.ticks_per_second = 1e9;
      experiment::Location& location = rank.locations.emplace_back();
      location.rank = rank.rank;
      location.name = "main";
      location.losses.assign(format::loss_count, 0);
      const auto iterations = iterations_of(r, slowest);
      analysis::test::add_loop(location, "step", iterations);
      analysis::test::add_log(location.loops.back(), iterations);
      for (const Iteration& of : iterations) location.end += of.wall;
    }
    return experiment::Experiment::of(whole);
  }
  std::vector<Iteration> iterations_of(std::size_t rank, const std::vector<double>& slowest) const {
    constexpr double ns = 1e6;
    std::vector<Iteration> all;
    for (std::size_t i = 0; i < work_[rank].size(); ++i) {
      const Work& of = work_[rank][i];
      const double own = of.usual + of.more, until = waits_ ? slowest[i] : own;
      const auto wall = static_cast<std::int64_t>(until * ns), waits = static_cast<std::int64_t>((until - own) * ns);
      const auto samples = [](double ms) { return std::llround(ms); };
      // Those of the same work are one cluster, as they would be.
      const auto cluster = static_cast<std::int32_t>(of.more > 0 || in_mpi(i) > 0);
      all.push_back({cluster,
                     wall,
                     {},
                     {1, waits, 0, 0, 0, 0},
                     {samples(of.usual), static_cast<std::int64_t>(of.usual * ns)},
                     {samples(of.more), static_cast<std::int64_t>(of.more * ns)}});
    }
    return all;
  }

  double in_mpi(std::size_t iteration) const {
    const auto at = in_mpi_.find(iteration);
    return at == in_mpi_.end() ? 0 : at->second;
  }

  bool waits_ = true;
  std::vector<std::vector<Work>> work_;
  std::map<std::size_t, double> in_mpi_;  ///< milliseconds, by iteration
};

const Finding* of_rule(const std::vector<Finding>& found, const std::string& rule) {
  const auto at = std::ranges::find(found, rule, &Finding::rule);
  return at == found.end() ? nullptr : &*at;
}
std::string rules_of(const std::vector<Finding>& found) {
  std::string text;
  for (const Finding& of : found) text += of.rule + ": " + line_of(of) + "\n";
  return text;
}

TEST(Rules, say_nothing_of_even_programs) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Program program(seed % 7 + 1, 20 + 37 * (seed % 11));
    const auto found = program.add_noise(seed, 0.03).found();
    EXPECT_EQ("", rules_of(found)) << seed;
  }
}

TEST(Rules, say_nothing_of_few_iterations) {
  for (const std::size_t iterations : {1U, 2U, 3U, 5U}) {
    Program program(2, iterations);
    EXPECT_EQ("", rules_of(program.add_noise(iterations, 0.03).found())) << iterations;
  }
}

TEST(LateRank, is_named_with_its_function) {
  Program program(4, 200);
  for (std::size_t i = 0; i < 200; ++i) program.at(2, i).more = 4;
  const auto found = program.add_noise(1, 0.02).found();
  const Finding* late = of_rule(found, "late_rank");
  ASSERT_TRUE(late) << rules_of(found);
  // Of 14 ms three more than the mean of all four.
  EXPECT_NEAR(3.0 / 14, late->share, 0.01);
  EXPECT_EQ(0u, sentence_of(*late).find("rank 2 computes longer than the others, 2.8")) << sentence_of(*late);
  EXPECT_NE(std::string::npos, sentence_of(*late).find("in 0x10 > 0x20; they wait for it")) << sentence_of(*late);
}

TEST(LateRank, no_rank_is_when_all_are_the_same) {
  Program program(4, 200);
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t i = 0; i < 200; ++i) program.at(r, i).more = 4;
  EXPECT_EQ("", rules_of(program.add_noise(2, 0.02).found()));
}

TEST(LateRank, the_others_are_those_that_are_not_late) {
  Program program(4, 200);
  for (std::size_t r = 1; r < 4; ++r)
    for (std::size_t i = 0; i < 200; ++i) program.at(r, i).more = 30;
  const auto found = program.found();
  const Finding* late = of_rule(found, "late_rank");
  ASSERT_TRUE(late) << rules_of(found);
  EXPECT_EQ(0u,
            sentence_of(*late).find("ranks 1-3 compute longer than the others, 8.00 s against their mean of 2.00 s"))
      << sentence_of(*late);
}

TEST(MovingHotSpot, is_none_where_the_same_ranks_are_always_slow) {
  Program two(8, 400), gradient(8, 400);
  for (std::size_t i = 0; i < 400; ++i)
    for (std::size_t r = 0; r < 8; ++r) {
      two.at(r, i).more = r < 2 ? 2 : 0;
      gradient.at(r, i).more = 0.5 * static_cast<double>(r);
    }
  EXPECT_FALSE(of_rule(two.add_noise(7, 0.02).found(), "moving_hot_spot"));
  EXPECT_FALSE(of_rule(gradient.add_noise(8, 0.02).found(), "moving_hot_spot"));
}

TEST(Iterations, ranks_with_more_of_them_are_no_step) {
  Program program(4, 100);
  program.add_noise(9, 0.01).leave_out_from(50, 3);
  const auto found = program.found();
  EXPECT_FALSE(of_rule(found, "step_of_iterations")) << rules_of(found);
  EXPECT_FALSE(of_rule(found, "moving_hot_spot")) << rules_of(found);
}

TEST(SlowIterations, what_takes_time_in_mpi_is_not_blamed_on_a_function) {
  Program program(3, 300);
  for (std::size_t i = 7; i < 300; i += 20) program.in_mpi(i, 40);
  const auto found = program.add_noise(10, 0.02).found();
  const Finding* slow = of_rule(found, "slow_iterations");
  ASSERT_TRUE(slow) << rules_of(found);
  EXPECT_EQ(std::string::npos, sentence_of(*slow).find("0x10,")) << sentence_of(*slow);
  EXPECT_EQ(std::string::npos, sentence_of(*slow).find("on rank")) << sentence_of(*slow);
  EXPECT_NE(std::string::npos, sentence_of(*slow).find("MPI_Allreduce")) << sentence_of(*slow);
}

TEST(SlowIterations, what_stops_early_does_not_come_every_time) {
  Program program(2, 1000);
  for (std::size_t i = 7; i < 80; i += 20) program.at(0, i).more = program.at(1, i).more = 400;
  const auto found = program.add_noise(11, 0.02).found();
  const Finding* slow = of_rule(found, "slow_iterations");
  ASSERT_TRUE(slow) << rules_of(found);
  EXPECT_EQ(0u, sentence_of(*slow).find("4 of 1,000 iterations of loop step (7, 27, 47, 67) take"))
      << sentence_of(*slow);
}

TEST(MovingHotSpot, is_told_with_its_ranks) {
  Program program(4, 400);
  for (std::size_t i = 0; i < 400; ++i) program.at(i / 50 % 4, i).more = 5;
  const auto found = program.add_noise(3, 0.02).found();
  const Finding* moving = of_rule(found, "moving_hot_spot");
  ASSERT_TRUE(moving) << rules_of(found);
  EXPECT_FALSE(of_rule(found, "late_rank")) << rules_of(found);
  EXPECT_NEAR(5 * 0.75 / 15, moving->share, 0.02);
  EXPECT_NE(std::string::npos, sentence_of(*moving).find("(ranks 0-3)")) << sentence_of(*moving);
}

TEST(MovingHotSpot, is_none_where_nobody_waits) {
  Program program(4, 400);
  for (std::size_t i = 0; i < 400; ++i) program.at(i / 50 % 4, i).more = 5;
  const auto found = program.add_noise(3, 0.02).without_waiting().found();
  EXPECT_FALSE(of_rule(found, "moving_hot_spot")) << rules_of(found);
}

TEST(SlowIterations, come_with_their_period_and_place) {
  Program program(3, 300);
  for (std::size_t i = 7; i < 300; i += 20) program.at(1, i).more = 40;
  const auto found = program.add_noise(4, 0.02).found();
  const Finding* slow = of_rule(found, "slow_iterations");
  ASSERT_TRUE(slow) << rules_of(found);
  EXPECT_EQ(0u,
            sentence_of(*slow).find("every 20th iteration of loop step (7, 27, 47, 67, ...) takes 4.9 times as long"))
      << sentence_of(*slow);
  EXPECT_NE(std::string::npos, sentence_of(*slow).find("0x20 on rank 1")) << sentence_of(*slow);
  EXPECT_NEAR(15 * 40.0 / (15 * 50 + 285 * 10.3), slow->share, 0.02);
}

TEST(SlowIterations, one_between_those_of_a_period_is_none_of_them) {
  Program program(3, 300);
  for (std::size_t i = 7; i < 300; i += 20) program.at(1, i).more = 40;
  program.at(1, 36).more = 40;
  const auto found = program.add_noise(4, 0.02).found();
  const Finding* slow = of_rule(found, "slow_iterations");
  ASSERT_TRUE(slow) << rules_of(found);
  EXPECT_EQ(0u, sentence_of(*slow).find("every 20th iteration of loop step (7, 27, 47, 67, ...) takes"))
      << sentence_of(*slow);
}

TEST(StepOfIterations, begins_where_it_was_planted) {
  Program program(2, 300);
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t i = 100; i < 300; ++i) program.at(r, i).more = 3;
  const auto found = program.add_noise(5, 0.02).found();
  const Finding* step = of_rule(found, "step_of_iterations");
  ASSERT_TRUE(step) << rules_of(found);
  EXPECT_EQ(0u, sentence_of(*step).find("from iteration 100 on an iteration of loop step takes 13."))
      << sentence_of(*step);
  EXPECT_NE(std::string::npos, sentence_of(*step).find("0x20")) << sentence_of(*step);
  EXPECT_NEAR(200 * 3.0 / (300 * 10.1 + 600), step->share, 0.01);
}

TEST(StepOfIterations, is_blamed_on_its_function_although_one_iteration_is_slow) {
  Program program(2, 300);
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t i = 200; i < 300; ++i) program.at(r, i).more = 6;
  program.at(0, 50).more = 900;
  const auto found = program.add_noise(12, 0.02).found();
  const Finding* step = of_rule(found, "step_of_iterations");
  ASSERT_TRUE(step) << rules_of(found);
  EXPECT_NE(std::string::npos, sentence_of(*step).find("in 0x10 > 0x20")) << sentence_of(*step);
}

TEST(StepOfIterations, each_of_two_is_told) {
  Program program(2, 300);
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t i = 100; i < 300; ++i) program.at(r, i).more = i < 200 ? 3 : 8;
  const auto found = program.add_noise(13, 0.02).found();
  EXPECT_EQ(2, std::ranges::count(found, "step_of_iterations", &Finding::rule)) << rules_of(found);
  EXPECT_FALSE(of_rule(found, "growing_iterations")) << rules_of(found);
}

TEST(StepOfIterations, costs_what_its_slower_side_takes_more) {
  // Levels of 10, 30 and 17: up by 20 and down by 13.
  Program program(1, 1000);
  for (std::size_t i = 450; i < 1000; ++i) program.at(0, i).more = i < 550 ? 20 : 7;
  std::vector<double> shares;
  for (const Finding& of : program.add_noise(18, 0.01).found())
    if (of.rule == "step_of_iterations") shares.push_back(of.share);
  ASSERT_EQ(2u, shares.size());
  const double all = 1000 * 10.05 + 100 * 20 + 450 * 7;
  EXPECT_NEAR((100 * 20 + 450 * 7) / all, shares[0], 0.01);
  EXPECT_NEAR(100 * 13 / all, shares[1], 0.01);
}

TEST(StepOfIterations, counts_the_iterations_that_all_ranks_have) {
  Program program(4, 400);
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t i = 100; i < 400; ++i) program.at(r, i).more = 10;
  program.add_noise(19, 0.01).leave_out_from(200, 3);
  const auto found = program.found();
  const Finding* step = of_rule(found, "step_of_iterations");
  ASSERT_TRUE(step) << rules_of(found);
  // Of four ranks 100 iterations; one rank goes on alone for 200.
  EXPECT_NEAR(4 * 100 * 10.0 / (4 * (100 * 10 + 100 * 20) + 200 * 20), step->share, 0.02);
}

TEST(SlowStretch, is_told_with_its_ends) {
  Program program(2, 500);
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t i = 200; i < 280; ++i) program.at(r, i).more = 15;
  const auto found = program.add_noise(14, 0.02).found();
  const Finding* slow = of_rule(found, "slow_stretch");
  ASSERT_TRUE(slow) << rules_of(found);
  EXPECT_EQ(0u, sentence_of(*slow).find("iterations 200 to 279 of loop step take 25.")) << sentence_of(*slow);
  EXPECT_NE(std::string::npos, sentence_of(*slow).find("in 0x10 > 0x20")) << sentence_of(*slow);
  EXPECT_NEAR(80 * 15.0 / (500 * 10.1 + 80 * 15), slow->share, 0.01);
  EXPECT_EQ(1u, found.size()) << rules_of(found);
}

TEST(SlowStretch, is_none_where_the_level_stays) {
  Program program(2, 500);
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t i = 200; i < 500; ++i) program.at(r, i).more = 15;
  EXPECT_FALSE(of_rule(program.add_noise(15, 0.02).found(), "slow_stretch"));
}

TEST(LateForAWhile, is_told_with_rank_and_iterations) {
  for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>(200, 280), {0, 220}, {350, 500}}) {
    Program program(2, 500);
    for (std::size_t i = begin; i < end; ++i) program.at(1, i).more = 6;
    const auto found = program.add_noise(16, 0.02).found();
    const Finding* late = of_rule(found, "late_for_a_while");
    ASSERT_TRUE(late) << rules_of(found);
    EXPECT_EQ(0u, sentence_of(*late).find("rank 1 computes longer than the others from about iteration "))
        << sentence_of(*late);
    EXPECT_NE(std::string::npos, sentence_of(*late).find(", in 0x10 > 0x20")) << sentence_of(*late);
    const auto count = static_cast<double>(end - begin);
    EXPECT_NEAR(count * 3 / (count * 6 + 500 * 10.1), late->share, 0.01);
    EXPECT_FALSE(of_rule(found, "moving_hot_spot")) << rules_of(found);
    EXPECT_FALSE(of_rule(found, "late_rank")) << rules_of(found);  // it would say the same
  }
}

TEST(LateForAWhile, is_none_where_nobody_waits) {
  Program program(2, 500);
  for (std::size_t i = 200; i < 280; ++i) program.at(1, i).more = 6;
  const auto found = program.add_noise(16, 0.02).without_waiting().found();
  EXPECT_FALSE(of_rule(found, "late_for_a_while")) << rules_of(found);
}

TEST(LateForAWhile, is_none_of_a_rank_that_is_always_late) {
  Program program(3, 500);
  for (std::size_t i = 0; i < 500; ++i) program.at(1, i).more = 6;
  const auto found = program.add_noise(17, 0.02).found();
  EXPECT_TRUE(of_rule(found, "late_rank")) << rules_of(found);
  EXPECT_FALSE(of_rule(found, "late_for_a_while")) << rules_of(found);
}

TEST(GrowingIterations, are_told_with_begin_and_end) {
  Program program(2, 300);
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t i = 0; i < 300; ++i) program.at(r, i).more = 0.03 * static_cast<double>(i);
  const auto found = program.add_noise(6, 0.02).found();
  const Finding* growing = of_rule(found, "growing_iterations");
  ASSERT_TRUE(growing) << rules_of(found);
  EXPECT_EQ(0u, sentence_of(*growing).find("an iteration of loop step takes ever more time, from 10."))
      << sentence_of(*growing);
  EXPECT_NEAR(4.5 / 14.6, growing->share, 0.03);
}

/// From 1 to 30 ms, in no order: the longer half calls the second function, too.
TEST(VaryingIterations, are_told_with_their_spread_and_function) {
  Program program(2, 300);
  std::mt19937_64 draw(3);
  for (std::size_t i = 0; i < 300; ++i) {
    const double more = static_cast<double>(draw() % 1000) / 1000;
    const Work work = more < 0.5 ? Work{1 + more, 0} : Work{1, 29 * more * more};
    for (std::size_t r = 0; r < 2; ++r) program.at(r, i) = work;
  }
  const auto found = program.found();
  const Finding* varying = of_rule(found, "varying_iterations");
  ASSERT_TRUE(varying) << rules_of(found);
  EXPECT_EQ(0u, sentence_of(*varying).find("iterations of loop step take 1.00 ms to 29.7 ms, half of them more than "))
      << sentence_of(*varying);
  EXPECT_NE(std::string::npos, sentence_of(*varying).find(", in 0x10 > 0x20")) << sentence_of(*varying);
}

TEST(VaryingIterations, that_wander_are_told_so) {
  Program program(2, 400);
  std::mt19937_64 draw(4);
  double level = 10;
  for (std::size_t i = 0; i < 400; ++i) {
    level = std::max(level + (draw() % 2 == 0 ? 0.5 : -0.5), 1.0);
    for (std::size_t r = 0; r < 2; ++r) program.at(r, i).more = level;
  }
  const auto found = program.found();
  const Finding* varying = of_rule(found, "varying_iterations");
  ASSERT_TRUE(varying) << rules_of(found);
  EXPECT_NE(std::string::npos, sentence_of(*varying).find(": their level wanders between ")) << sentence_of(*varying);
}

TEST(Rules, tell_how_little_was_measured) {
  Program program(4, 20);
  for (std::size_t i = 0; i < 20; ++i) program.at(2, i).more = 4;
  const auto found = program.found();
  const Finding* late = of_rule(found, "late_rank");
  ASSERT_TRUE(late) << rules_of(found);
  EXPECT_NE(std::string::npos, sentence_of(*late).find("; they wait for it; only 280 ms measured"))
      << sentence_of(*late);
}

/// One rank of ten seconds, without iterations; call paths are given by hand.
class HandMade {
 public:
  explicit HandMade(int threads = 1) {
    tree.nodes.emplace_back();
    for (int t = 0; t < threads; ++t) {
      analysis::LocationSummary& of = tree.locations.emplace_back();
      of.thread = t;
      of.wall_s = 10;
    }
    whole.profile = analysis::test::empty_profile();
    whole.profile.paths.clear();
    whole.profile.paths.push_back({0, format::NodeKind::Root, -1, 0});
    tree.node_of.push_back(0);
    experiment::Rank& rank = whole.profile.ranks.emplace_back();
    rank.ticks_per_second = 1e9;
    for (int t = 0; t < threads; ++t) {
      experiment::Location& location = rank.locations.emplace_back();
      location.thread = t;
      location.losses.assign(format::loss_count, 0);
      location.run.emplace();
    }
  }
  /// `first_s`: of that in the first thread; `second_s`: in the second one.
  std::uint32_t add(std::uint32_t parent, const std::string& name, PathKind kind, double seconds, double first_s = 0,
                    double second_s = 0) {
    const auto number = static_cast<std::uint32_t>(tree.nodes.size());
    analysis::TreeNode& node = tree.nodes.emplace_back();
    node.parent = static_cast<std::int32_t>(parent);
    node.name = name;
    node.kind = kind;
    node.exclusive_s = seconds;
    tree.nodes[parent].children.push_back(number);
    for (std::uint32_t at = number;; at = static_cast<std::uint32_t>(tree.nodes[at].parent)) {
      tree.nodes[at].inclusive_s += seconds;
      if (at == 0) break;
    }
    const auto path = static_cast<std::uint32_t>(whole.profile.paths.size());
    const bool is_mpi = kind == PathKind::Mpi;
    whole.profile.paths.push_back({0, is_mpi ? format::NodeKind::Region : format::NodeKind::Function, -1, 0});
    if (is_mpi) {
      whole.profile.paths.back().offset = whole.profile.regions.size();
      whole.profile.regions.push_back(name);
    }
    tree.node_of.push_back(number);
    for (const auto& [thread, own_s] : {std::pair<std::size_t, double>(0, first_s), {1, second_s}})
      if (own_s > 0) location(thread).run->paths.push_back({path, 0, static_cast<std::int64_t>(own_s * 1e9)});
    return number;
  }
  experiment::Location& location(std::size_t thread = 0) { return whole.profile.ranks[0].locations[thread]; }

  std::vector<Finding> found(void (*rule)(const Facts&, std::vector<Finding>&)) const {
    const auto held = experiment::Experiment::of(whole);
    analysis::MinimumWaits minima(held->definitions());
    for (const auto& rank : whole.profile.ranks) minima.add(rank);
    std::vector<Finding> all;
    rule(Facts{*held, tree, minima, {}}, all);
    const auto of_table = std::ranges::find(rules(), rule, &Rule::find);
    for (Finding& of : all) of.rule = of_table->id;
    return all;
  }

  experiment::WholeExperiment whole;
  analysis::CallTree tree;
};

TEST(LateRank, who_does_something_else_does_not_wait) {
  HandMade program;
  program.tree.locations.push_back(program.tree.locations[0]);
  analysis::LocationSummary &one = program.tree.locations[0], &other = program.tree.locations[1];
  other.rank = 1;
  one.user_s = other.user_s = 10;
  other.not_on_cpu_s = other.not_on_cpu_low_s = other.not_on_cpu_high_s = 5;  // it reads files
  EXPECT_TRUE(program.found(late_rank).empty());
  other.user_s = other.mpi_s = 5;
  other.not_on_cpu_s = other.not_on_cpu_low_s = other.not_on_cpu_high_s = 0;
  EXPECT_EQ(1u, program.found(late_rank).size());
}

/// What is not known of the time on a CPU: all of it, as of a rank that was seldom sampled.
TEST(LateRank, is_told_by_user_code_where_it_is_not_known_how_much_of_that_was_on_a_cpu) {
  HandMade program;
  program.tree.locations.push_back(program.tree.locations[0]);
  analysis::LocationSummary &one = program.tree.locations[0], &other = program.tree.locations[1];
  other.rank = 1;
  one.user_s = 5.5;
  one.not_on_cpu_s = 3;
  one.not_on_cpu_high_s = 5.5;
  one.mpi_s = 4.5;
  other.user_s = 0.0016;
  other.mpi_s = 9.9984;
  const auto found = program.found(late_rank);
  ASSERT_EQ(1u, found.size());
  EXPECT_EQ(0u, sentence_of(found[0]).find("rank 0 takes longer than the others, 5.50 s against their mean of 1.60 ms "
                                           "(how much of it on a CPU is not known)"))
      << sentence_of(found[0]);
  one.not_on_cpu_low_s = one.not_on_cpu_s = 5;  // it slept: that is another sentence
  EXPECT_TRUE(program.found(late_rank).empty());
}

TEST(LateRank, whose_work_is_in_several_functions_is_told_with_their_parts) {
  HandMade program;
  program.tree.locations.push_back(program.tree.locations[0]);
  analysis::LocationSummary &one = program.tree.locations[0], &other = program.tree.locations[1];
  other.rank = 1;
  program.whole.profile.ranks.push_back(program.whole.profile.ranks[0]);
  program.whole.profile.ranks[1].rank = 1;
  const auto main = program.add(0, "main", PathKind::User, 0);
  program.add(main, "b(int)", PathKind::User, 3.3, 3.3);
  program.add(main, "a(int)", PathKind::User, 3.5, 3.5);
  program.add(main, "c(int)", PathKind::User, 3.2, 3.2);
  program.tree.totals.ticks_user = 1000;
  program.tree.totals.user_s = 10;
  one.user_s = 10;
  other.mpi_s = 10;
  const auto found = program.found(late_rank);
  ASSERT_EQ(1u, found.size());
  EXPECT_NE(std::string::npos, sentence_of(found[0]).find(", in a 35 %, b 33 %, c 32 %; they wait for it"))
      << sentence_of(found[0]);
}

/// Two threads; the first computes alone for `serial_s`, in which the second one waits.
std::vector<Finding> serial(double serial_s) {
  HandMade program(2);
  const double parallel_s = 10 - serial_s;
  for (auto& of : program.tree.locations) of.user_s = 10;
  const auto main = program.add(0, "main", PathKind::User, 0);
  program.add(main, "assemble", PathKind::User, serial_s, serial_s);
  const auto construct = program.add(main, "GOMP_parallel", PathKind::User, 0);
  program.add(construct, "solve._omp_fn.0", PathKind::User, 2 * parallel_s, parallel_s, parallel_s);
  return program.found(serial_section);
}

TEST(SerialSection, is_named_with_its_function) {
  const auto found = serial(6);
  ASSERT_EQ(1u, found.size());
  EXPECT_NEAR(0.6, found[0].share, 0.001);
  EXPECT_NE(std::string::npos,
            sentence_of(found[0]).find("have work for 40 % of their time, mostly in main > assemble"))
      << sentence_of(found[0]);
}

TEST(SerialSection, helper_threads_of_other_kinds_are_no_workers) {
  HandMade program(2);
  for (auto& of : program.tree.locations) of.user_s = 10;
  const auto main = program.add(0, "main", PathKind::User, 0);
  program.add(main, "assemble", PathKind::User, 5, 5);
  program.add(program.add(main, "GOMP_parallel", PathKind::User, 0), "solve._omp_fn.0", PathKind::User, 5, 5);
  program.add(0, "progress", PathKind::User, 0.1, 0, 0.1);
  EXPECT_TRUE(program.found(serial_section).empty());
}

TEST(SerialSection, ranks_without_workers_are_not_alone) {
  HandMade program(2);
  for (auto& of : program.tree.locations) of.user_s = 10;
  const auto main = program.add(0, "main", PathKind::User, 0);
  const auto construct = program.add(main, "GOMP_parallel", PathKind::User, 0);
  program.add(construct, "solve._omp_fn.0", PathKind::User, 15, 10, 5);
  // Another rank has no threads, and computes all the time.
  experiment::Rank plain = program.whole.profile.ranks[0];
  plain.rank = 1;
  plain.locations.resize(1);
  plain.locations[0].rank = 1;
  plain.locations[0].run->paths.clear();
  program.whole.profile.ranks.push_back(plain);
  program.tree.locations.push_back(program.tree.locations[0]);
  program.tree.locations.back().rank = 1;
  const auto alone = program.add(main, "assemble", PathKind::User, 10);
  const auto path = static_cast<std::uint32_t>(program.whole.profile.paths.size() - 1);
  ASSERT_EQ(alone, program.tree.node_of[path]);
  program.whole.profile.ranks[1].locations[0].run->paths.push_back({path, 0, 10'000'000'000});
  EXPECT_TRUE(program.found(serial_section).empty());
}

TEST(SerialSection, is_none_when_threads_have_work) {
  EXPECT_TRUE(serial(0.5).empty());
  EXPECT_TRUE(HandMade(2).found(serial_section).empty());
}

/// Ten seconds, in which two threads do so much of a construct; the rest of it they wait in the runtime. `rank`: the
/// only one that was measured.
std::vector<Finding> unequal(double first_s, double second_s, std::int32_t rank = 0) {
  HandMade program(2);
  program.whole.profile.ranks[0].rank = rank;
  for (auto& of : program.whole.profile.ranks[0].locations) of.rank = rank;
  for (auto& of : program.tree.locations) of.rank = rank;
  for (auto& of : program.tree.locations) of.user_s = 10;
  program.tree.totals.user_s = 20;
  program.tree.totals.ticks_user = 2000;
  const auto main = program.add(0, "main", PathKind::User, 0);
  const auto construct = program.add(main, "GOMP_parallel", PathKind::User, 0);
  const auto body = program.add(construct, "solve._omp_fn.0", PathKind::User, first_s + second_s, first_s, second_s);
  program.add(body, "[libgomp.so.1]", PathKind::User, 20 - first_s - second_s, 10 - first_s, 10 - second_s);
  return program.found(uneven_threads);
}

TEST(UnevenThreads, are_told_with_their_construct) {
  for (const double least_s : {2.0, 0.0}) {
    const auto found = unequal(9, least_s);
    ASSERT_EQ(1u, found.size());
    EXPECT_NEAR((9 - (9 + least_s) / 2) / 10, found[0].share, 0.001);
    EXPECT_NE(std::string::npos,
              sentence_of(found[0]).find("GOMP_parallel > solve._omp_fn.0: 9.00 s of thread 0 against a mean"))
        << sentence_of(found[0]);
    EXPECT_EQ((std::vector<std::string>{"--rank", "0.1"}), options_of(found[0]));
  }
}

TEST(UnevenThreads, are_on_the_only_rank_that_was_measured) {
  const auto found = unequal(9, 2, 3);
  ASSERT_EQ(1u, found.size());
  EXPECT_EQ((std::vector<std::string>{"--rank", "3.1"}), options_of(found[0]));
}

TEST(UnevenThreads, are_none_where_the_others_have_other_work) {
  HandMade program(2);
  for (auto& of : program.tree.locations) of.user_s = 10;
  program.tree.totals.user_s = 20;
  program.tree.totals.ticks_user = 2000;
  const auto construct = program.add(program.add(0, "main", PathKind::User, 0), "GOMP_parallel", PathKind::User, 0);
  // The first thread makes tasks, and both run them.
  const auto body = program.add(construct, "solve._omp_fn.0", PathKind::User, 6, 6, 0);
  const auto barrier = program.add(body, "GOMP_barrier", PathKind::User, 0.1, 0.05, 0.05);
  program.add(barrier, "solve._omp_fn.1", PathKind::User, 13.9, 3.95, 9.95);
  EXPECT_TRUE(program.found(uneven_threads).empty());
}

TEST(UnevenThreads, are_none_where_work_is_equal) {
  EXPECT_TRUE(unequal(9, 9).empty());
  EXPECT_TRUE(unequal(9, 8.7).empty());  // two standard errors
}

TEST(MeasurementCost, is_told_where_it_is_large) {
  HandMade program;
  program.tree.locations[0].refrain_s = 1;
  const auto found = program.found(measurement_cost);
  ASSERT_EQ(1u, found.size());
  EXPECT_NEAR(0.1, found[0].share, 1e-9);
  program.tree.locations[0].refrain_s = 0.2;
  EXPECT_TRUE(program.found(measurement_cost).empty());
}

/// Of ten seconds so many not on a CPU, between bounds.
std::vector<Finding> not_on_cpu(double low_s, double seconds, double high_s) {
  HandMade program;
  program.tree.locations[0].user_s = 10;
  program.tree.locations[0].not_on_cpu_s = program.tree.locations[0].off_untold_s = seconds;
  program.tree.locations[0].not_on_cpu_low_s = low_s;
  program.tree.locations[0].not_on_cpu_high_s = high_s;
  return program.found(shared_core);
}

TEST(SharedCore, is_told_with_its_bounds) {
  const auto found = not_on_cpu(2, 3, 4);
  ASSERT_EQ(1u, found.size());
  EXPECT_NEAR(0.3, found[0].share, 0.001);
  EXPECT_NE(std::string::npos, sentence_of(found[0]).find("(20 to 40 %)")) << sentence_of(found[0]);
}

TEST(SharedCore, the_rank_that_has_it_is_named) {
  HandMade program;
  program.tree.locations.push_back(program.tree.locations[0]);
  analysis::LocationSummary& of = program.tree.locations[1];
  of.rank = 1;
  of.not_on_cpu_s = of.not_on_cpu_low_s = of.not_on_cpu_high_s = of.off_untold_s = 4;
  const auto found = program.found(shared_core);
  ASSERT_EQ(1u, found.size());
  EXPECT_NE(std::string::npos, sentence_of(found[0]).find("(20 %), mostly on rank 1: ")) << sentence_of(found[0]);
  program.tree.locations[0].not_on_cpu_s = program.tree.locations[0].not_on_cpu_high_s = 3;
  EXPECT_EQ(std::string::npos, sentence_of(program.found(shared_core)[0]).find("mostly"));
}

TEST(SharedCore, nothing_is_claimed_that_bounds_do_not_carry) {
  EXPECT_TRUE(not_on_cpu(0.1, 3, 6).empty());
  EXPECT_TRUE(not_on_cpu(0, 0, 0).empty());
}

/// Of two ranks of ten seconds each, seconds by rank that user code waited for a core and was blocked.
HandMade off_cpu(std::array<double, 2> waited_s, std::array<double, 2> blocked_s) {
  HandMade program;
  program.tree.locations.push_back(program.tree.locations[0]);
  for (std::size_t rank : {0, 1}) {
    analysis::LocationSummary& of = program.tree.locations[rank];
    of.rank = static_cast<std::int32_t>(rank);
    of.user_s = 10;
    of.waited_for_core_s = waited_s[rank];
    of.blocked_s = blocked_s[rank];
    of.not_on_cpu_s = of.not_on_cpu_low_s = of.not_on_cpu_high_s = waited_s[rank] + blocked_s[rank];
  }
  return program;
}

TEST(WaitingForCore, is_told_exactly_and_of_whom) {
  auto found = off_cpu({2, 4}, {1, 1}).found(waiting_for_core);
  ASSERT_EQ(1u, found.size());
  EXPECT_NEAR(0.3, found[0].share, 1e-9);
  EXPECT_EQ(0, found[0].error);
  EXPECT_EQ("user code waited for a core; other threads or processes had it", sentence_of(found[0]));
  found = off_cpu({0, 4}, {1, 1}).found(waiting_for_core);
  ASSERT_EQ(1u, found.size());
  EXPECT_EQ("user code waited for a core, mostly on rank 1; other threads or processes had it", sentence_of(found[0]));
  EXPECT_TRUE(off_cpu({0.2, 0.3}, {5, 5}).found(waiting_for_core).empty());
}

TEST(WaitingForCore, a_quota_is_named_where_it_has_held_threads_back) {
  HandMade program = off_cpu({4, 4}, {0, 0});
  program.whole.profile.ranks[0].cores.throttled_ns = 3'000'000'000;
  auto found = program.found(waiting_for_core);
  ASSERT_EQ(1u, found.size());
  EXPECT_EQ("user code waited for a core, because the quota of the control group held threads back for 3.00 s",
            sentence_of(found[0]));
  program.whole.profile.ranks[0].cores.throttled_ns = 300'000'000;
  EXPECT_EQ(std::string::npos, sentence_of(program.found(waiting_for_core)[0]).find("quota"));
}

TEST(Blocked, is_told_exactly_and_of_whom) {
  auto found = off_cpu({2, 4}, {1, 1}).found(blocked);
  ASSERT_EQ(1u, found.size());
  EXPECT_NEAR(0.1, found[0].share, 1e-9);
  EXPECT_EQ("user code was blocked (sleep, locks, files or page faults)", sentence_of(found[0]));
  found = off_cpu({0, 0}, {5, 0.1}).found(blocked);
  ASSERT_EQ(1u, found.size());
  EXPECT_EQ("user code was blocked, mostly on rank 0 (sleep, locks, files or page faults)", sentence_of(found[0]));
  EXPECT_TRUE(off_cpu({5, 5}, {0.2, 0.3}).found(blocked).empty());
}

TEST(SharedCore, is_silent_where_causes_are_told_apart) {
  EXPECT_TRUE(off_cpu({2, 4}, {1, 1}).found(shared_core).empty());
}

/// `calls` of MPI_Send of `bytes`, each of `us` microseconds.
std::vector<Finding> messages(std::int64_t calls, std::int64_t bytes, double us) {
  using format::MetricId;
  HandMade program;
  program.tree.totals.wall_s = 10;
  const double seconds = static_cast<double>(calls) * us * 1e-6;
  program.tree.locations[0].mpi_s = seconds;
  const auto main = program.add(0, "main", PathKind::User, 10 - seconds);
  const auto send = program.add(main, "MPI_Send", PathKind::Mpi, seconds);
  auto& counts = program.tree.nodes[send].exclusive;
  counts.add(MetricId::Visits, calls);
  counts.add(MetricId::MessagesSent, calls);
  counts.add(MetricId::BytesSent, calls * bytes);
  waits::Durations durations;
  for (std::int64_t i = 0; i < calls; ++i)
    durations.add_call(static_cast<std::uint64_t>(us * 1e3), static_cast<std::uint64_t>(us * 1e3));
  program.location().durations.push_back({2, waits::CallBin({bytes, waits::Transfer::sends}), durations});
  return program.found(small_messages);
}

TEST(SmallMessages, are_told_with_their_number_and_size) {
  const auto found = messages(100'000, 8, 20);
  ASSERT_EQ(1u, found.size());
  EXPECT_NEAR(0.2, found[0].share, 0.01);
  EXPECT_EQ(0u, sentence_of(found[0]).find("100,000 messages of 8 B each on average")) << sentence_of(found[0]);
}

TEST(SmallMessages, few_or_large_or_fast_ones_are_none) {
  EXPECT_TRUE(messages(5'000, 8, 200).empty());
  EXPECT_TRUE(messages(100'000, 100'000, 20).empty());
  EXPECT_TRUE(messages(100'000, 8, 1).empty());
}

/// `tests` calls of MPI_Test of a microsecond each, of which all but a few have found nothing.
std::vector<Finding> tests_for_messages(std::int64_t tests) {
  HandMade program;
  program.tree.totals.wall_s = 10;
  const double seconds = static_cast<double>(tests) * 1e-6;
  program.tree.locations[0].mpi_s = seconds;
  const auto main = program.add(0, "main", PathKind::User, 10 - seconds);
  const auto path = static_cast<std::uint32_t>(program.whole.profile.paths.size());
  program.add(main, "MPI_Test", PathKind::Mpi, seconds);
  waits::Durations nothing, completed;
  for (std::int64_t i = 0; i < tests; ++i) nothing.add_call(1000, 1000);
  for (std::int64_t i = 0; i < 10; ++i) completed.add_call(1000, 1000);
  program.location().durations = {
      {path, waits::CallBin(waits::Transfer{}), nothing},
      {path, waits::CallBin(waits::Transfer{.bytes = 8, .what = waits::Transfer::receives}), completed}};
  return program.found(polling);
}

TEST(Polling, names_the_tests_that_found_nothing) {
  const auto found = tests_for_messages(4'000'000);
  ASSERT_EQ(1u, found.size());
  EXPECT_NEAR(0.4, found[0].share, 0.001);
  EXPECT_EQ(0u, sentence_of(found[0]).find("polling: 4,000,000 tests found nothing, mostly in main > MPI_Test"))
      << sentence_of(found[0]);
}

TEST(Polling, a_few_tests_are_none) { EXPECT_TRUE(tests_for_messages(100'000).empty()); }

TEST(Unseen, is_what_has_no_call_path) {
  for (const char* name : {run::no_sample_name, run::arena_full_name, run::mpi_without_path_name}) {
    HandMade program;
    program.tree.totals.wall_s = 10;
    program.add(0, name, PathKind::Other, 1);
    const auto found = program.found(unseen);
    ASSERT_EQ(1u, found.size()) << name;
    EXPECT_NEAR(0.1, found[0].share, 0.001);
    EXPECT_NE(std::string::npos, sentence_of(found[0]).find(name));
  }
  HandMade program;
  program.tree.totals.wall_s = 10;
  program.add(0, run::no_sample_name, PathKind::Other, 0.1);
  program.add(0, run::not_on_cpu_name, PathKind::Other, 5);
  EXPECT_TRUE(program.found(unseen).empty());
}

}  // namespace
}  // namespace refrain::findings

// Division of user time among call paths: trees of pools, raking, and both together against planted truth. The seeds
// are fixed, so nothing here fails by chance; the rates are those over the seeds.
#include "offline/run/user_shares.hpp"

#include <gtest/gtest.h>

#include "offline/run/raking.hpp"
#include "offline/run/time_rules.hpp"
#include "tests/unit/run/planted_shares.hpp"

namespace refrain::run {
namespace {

using test::Behaviour;

SampledIterations sampled(const test::PlantedLoop& loop) {
  SampledIterations all;
  for (const auto& it : loop.iterations)
    if (!it.samples.empty()) all.add(it.variables, it.samples);
  return all;
}

double share_at(const std::vector<ShareTree::Share>& shares, std::uint32_t path) {
  for (const auto& of : shares)
    if (of.path == path) return of.share;
  return 0;
}

TEST(ShareTree, hardly_ever_finds_a_split_where_there_is_none) {
  struct Case {
    std::size_t paths, iterations, most;  ///< splits in 500 loops
  };
  for (const auto& [paths, iterations, most] : {Case{2, 150, 5}, Case{3, 150, 5}, Case{5, 400, 1}, Case{20, 400, 1}}) {
    std::size_t split = 0;
    for (std::uint64_t seed = 0; seed < 500; ++seed)
      split += ShareTree::grow(sampled(test::plant(Behaviour::Steady, iterations, 2, 1000 + seed, paths, 1)), {})
                   .leaves()
                   .size() > 1;
    EXPECT_LE(split, most) << paths << " call paths, " << iterations << " iterations";
  }
}

TEST(ShareTree, finds_the_iteration_at_which_the_division_changes) {
  SampledIterations all;
  std::mt19937_64 random(3);
  for (std::int64_t i = 0; i < 400; ++i) {
    const PathSamples hit{static_cast<std::uint32_t>(i < 100 ? random() % 2 : 1 + random() % 2), 1};
    all.add({{i, 5, 5, 5, 5}}, {&hit, 1});
  }
  const ShareTree tree = ShareTree::grow(all, {});
  ASSERT_EQ(tree.leaves().size(), 2U);
  const auto& before = tree.leaves()[tree.leaf_of({{99, 5, 5, 5, 5}})];
  const auto& after = tree.leaves()[tree.leaf_of({{100, 5, 5, 5, 5}})];
  EXPECT_NEAR(static_cast<double>(before.samples), 100, 3);
  EXPECT_EQ(share_at(before.shares, 2), 0);
  EXPECT_EQ(share_at(after.shares, 0), 0);
}

/// Of 20 call paths one begins at iteration 100: 60 samples in all are too few for the division as a whole.
TEST(ShareTree, finds_a_call_path_that_begins_among_many_others) {
  SampledIterations all;
  std::mt19937_64 random(8);
  for (std::int64_t i = 0; i < 180; i += 3) {
    const PathSamples hit{i >= 100 && random() % 2 == 0 ? 20U : static_cast<std::uint32_t>(random() % 20), 1};
    all.add({{i, 5, 5, 5, 5}}, {&hit, 1});
  }
  const ShareTree tree = ShareTree::grow(all, {});
  ASSERT_EQ(tree.leaves().size(), 2U);
  EXPECT_EQ(share_at(tree.leaves()[tree.leaf_of({{95, 5, 5, 5, 5}})].shares, 20), 0);
  EXPECT_NEAR(share_at(tree.leaves()[tree.leaf_of({{150, 5, 5, 5, 5}})].shares, 20), 0.5, 0.2);
}

TEST(ShareTree, explains_samples_that_are_divided_as_its_leaves_and_no_others) {
  std::mt19937_64 random(4);
  const auto add = [&](SampledIterations& to, std::int64_t i, std::uint32_t before, std::uint32_t after) {
    const PathSamples hit{i < 100 ? before : random() % 4 == 0 ? before : after, 1};
    to.add({{i, 5, 5, 5, 5}}, {&hit, 1});
  };
  SampledIterations large, alike, own_function, other_time;
  for (std::int64_t i = 0; i < 400; ++i) add(large, i, 0, 1);
  for (std::int64_t i = 5; i < 400; i += 20) {
    add(alike, i, 0, 1);
    add(own_function, i, 0, i % 3 != 0 ? 7 : 1);
    add(other_time, i, 1, 0);
  }
  const ShareTree tree = ShareTree::grow(large, {});
  EXPECT_TRUE(tree.explains(alike, ShareTree::grow(alike, {})));
  EXPECT_TRUE(tree.explains({}, ShareTree::grow({}, {})));
  EXPECT_FALSE(tree.explains(own_function, ShareTree::grow(own_function, {})));
  EXPECT_FALSE(tree.explains(other_time, ShareTree::grow(other_time, {})));
  // Sixty call paths, none of which differs by more than chance.
  SampledIterations even, odd;
  for (std::int64_t i = 0; i < 800; ++i) {
    const auto path = static_cast<std::uint32_t>(random() % 30 * 2 + (random() % 10 == 0));
    const PathSamples hit{i % 4 == 0 ? path ^ 1 : path, 1};
    (i % 4 == 0 ? odd : even).add({{i, 5, 5, 5, 5}}, {&hit, 1});
  }
  EXPECT_FALSE(ShareTree::grow(even, {}).explains(odd, ShareTree::grow(odd, {})));
}

/// Iterations of 400 samples on two call paths, of which the second has 10 % of the time, give or take 2 %.
TEST(ShareTree, variance_among_iterations_is_found_where_they_have_many_samples) {
  for (const double deviation : {0.0, 0.02}) {
    SampledIterations all;
    std::mt19937_64 random(21);
    std::normal_distribution<double> share(0.1, deviation);
    for (std::int64_t i = 0; i < 300; ++i) {
      const auto second = std::llround(400 * std::max(0.0, deviation > 0 ? share(random) : 0.1));
      const PathSamples hits[] = {{0, 400 - second}, {1, second}};
      all.add({{i, 5, 5, 5, 5}}, hits);
    }
    const ShareTree tree = ShareTree::grow(all, {});
    ASSERT_EQ(tree.leaves().size(), 1U);
    EXPECT_NEAR(std::sqrt(tree.leaves()[0].shares[1].spread.variance), deviation, 0.2 * deviation);
  }
}

TEST(ShareTree, a_leaf_of_few_samples_is_drawn_to_the_node_above) {
  const ShareTree::Share outside[] = {{0, 0.25}, {7, 0.75}};
  SampledIterations few;
  const PathSamples other{3, 9}, usual{0, 291};
  few.add({{1, 0, 0, 0, 0}}, {&other, 1});
  few.add({{2, 0, 0, 0, 0}}, {&usual, 1});
  const ShareTree tree = ShareTree::grow(few, outside);
  ASSERT_EQ(tree.leaves().size(), 2U);
  const ShareTree::Leaf leaf = tree.leaves()[tree.leaf_of({{1, 0, 0, 0, 0}})];
  EXPECT_EQ(leaf.samples, 9);
  EXPECT_DOUBLE_EQ(share_at(leaf.shares, 3), (9 + 0.03) / 10);
  EXPECT_DOUBLE_EQ(share_at(leaf.shares, 0), 0.97 / 10);
  EXPECT_EQ(share_at(leaf.shares, 7), 0);
  const ShareTree::Leaf none = ShareTree::grow({}, outside).leaves().at(0);
  EXPECT_DOUBLE_EQ(share_at(none.shares, 7), 0.75);
  EXPECT_TRUE(ShareTree::grow({}, {}).leaves().at(0).shares.empty());
}

TEST(Raking, gives_rows_their_masses_and_columns_their_targets_and_keeps_zeros) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 50; ++round) {
    std::vector<RakedRow> rows(2 + random() % 6);
    std::vector<double> targets(2 + random() % 8, 0);
    double mass = 0;
    for (RakedRow& row : rows) {
      row.mass = 1 + static_cast<double>(random() % 1000);
      mass += row.mass;
      double left = row.mass;
      for (std::uint32_t p = 0; p < targets.size(); ++p) {
        if (p > 0 && random() % 3 == 0) continue;
        row.shares.push_back({p, 1 + static_cast<double>(random() % 50)});
        const double part = p + 1 == targets.size() ? left : left * static_cast<double>(random() % 100) / 200;
        targets[p] += part;  // what is possible
        left -= part;
      }
      targets[0] += left > 0 && row.shares.back().path + 1 != targets.size() ? left : 0;
    }
    const auto before = rows;
    EXPECT_LT(rake(rows, targets), 1e-9);
    std::vector<double> sums(targets.size(), 0);
    double wanted = 0;
    for (const double t : targets) wanted += t;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      double sum = 0;
      ASSERT_EQ(rows[r].shares.size(), before[r].shares.size());
      for (const auto& cell : rows[r].shares) {
        sum += cell.share;
        sums[cell.path] += rows[r].mass * cell.share;
      }
      EXPECT_NEAR(sum, 1, 1e-12);
    }
    for (std::size_t p = 0; p < targets.size(); ++p) EXPECT_NEAR(sums[p], targets[p] / wanted * mass, 1e-8 * mass);
  }
}

TEST(Raking, rows_keep_their_masses_when_zeros_make_the_targets_impossible) {
  std::vector<RakedRow> rows{{60, 1, {{0, 1}}}, {40, 1, {{1, 0.5}, {2, 0.5}}}};
  const double targets[] = {50, 45, 5};
  EXPECT_NEAR(rake(rows, targets), 0.1, 1e-6);
  EXPECT_EQ(rows[0].shares[0].share, 1);
  EXPECT_NEAR(rows[1].shares[0].share + rows[1].shares[1].share, 1, 1e-12);
}

TEST(Raking, a_row_that_has_nothing_of_what_is_wanted_is_not_given_to_a_rare_path) {
  const double targets[] = {0, 900, 1};
  const RakedRow none_wanted{200, 100, {{0, 0.99}, {2, 0.01}}}, wanted{701, 300, {{0, 0.02}, {1, 0.97}, {2, 0.01}}};
  std::vector<RakedRow> rows{none_wanted, wanted};
  EXPECT_LT(rake_beyond_zeros(rows, targets, 901), 1e-9);
  ASSERT_EQ(rows[0].shares.back().path, 2u);
  EXPECT_LT(rows[0].shares.back().share * 200, 1);
  // Where it is possible, zeros stay.
  rows = {{50, 10, {{0, 1}}}, {851, 10, {{1, 0.5}, {2, 0.5}}}};
  const double possible[] = {50, 850, 1};
  EXPECT_LT(rake_beyond_zeros(rows, possible, 901), 1e-6);
  EXPECT_EQ(rows[0].shares.size(), 1u);
}

TEST(ShareTree, explains_the_same_division_however_many_leaves_it_has) {
  std::size_t explained = 0;
  constexpr int trials = 200;
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    std::mt19937_64 random(seed);
    SampledIterations large, small;
    for (std::int64_t i = 0; i < 3300; ++i) {  // 30 stretches: in each, another call path has most
      const auto often = static_cast<std::uint32_t>(i / 110 % 5);
      const PathSamples hit{random() % 10 < 8 ? often : static_cast<std::uint32_t>(random() % 5), 1};
      (i % 11 == 5 ? small : large).add({{i, 5, 5, 5, 5}}, {&hit, 1});
    }
    const ShareTree tree = ShareTree::grow(large, {});
    EXPECT_GE(tree.leaves().size(), 25U);
    explained += tree.explains(small, ShareTree::grow(small, {}));
  }
  EXPECT_GE(explained, trials * 95 / 100);
}

TEST(ShareSpread, all_call_paths_together_have_no_variance) {
  SampledIterations all;
  std::mt19937_64 random(5);
  for (std::int64_t i = 0; i < 400; ++i) {
    const auto first = static_cast<std::int64_t>(140 + random() % 80);
    const PathSamples hits[] = {{0, first}, {1, 360 - first}, {2, 40}};
    all.add({{i, 5, 5, 5, 5}}, hits);
  }
  const ShareTree tree = ShareTree::grow(all, {});
  ShareSpread sum;
  for (const auto& of : tree.leaves().at(0).shares) sum += of.spread;
  const auto& first = tree.leaves()[0].shares[0];
  EXPECT_NEAR(std::sqrt(first.spread.variance_of(first.share)), 80 / std::sqrt(12) / 400, 0.005);
  EXPECT_EQ(sum.variance_of(1), 0);
}

TEST(Raking, what_the_targets_miss_by_chance_gives_no_row_what_it_does_not_have) {
  // 12 of 13 samples hit the path 1, which has 87 % of the time: the second row cannot hold all of it.
  const double targets[] = {1, 12};
  const std::vector<RakedRow> planted{{17, 30, {{0, 1}}}, {113, 12, {{0, 0.02}, {1, 0.98}}}};
  std::vector<RakedRow> rows = planted;
  EXPECT_NEAR(rake_beyond_zeros(rows, targets, 13), 12.0 / 13 - 113.0 / 130, 1e-3);
  EXPECT_EQ(rows[0].shares.size(), 1U);
  // The same from many samples is no chance.
  rows = planted;
  EXPECT_LT(rake_beyond_zeros(rows, targets, 1300), 1e-9);
  EXPECT_EQ(rows[0].shares.size(), 2U);
}

/// Every tenth iteration is in a class of its own and has too few samples to tell when the hot spot comes.
TEST(UserShares, a_class_of_few_samples_is_divided_as_its_neighbours_are) {
  auto loop = test::plant(Behaviour::Steady, 1000, 0.6, 12, 3, 2);
  std::mt19937_64 random(6);
  for (auto& cluster : loop.clusters) cluster = {};
  loop.clusters[1].class_index = 1;
  for (std::size_t i = 0; i < loop.iterations.size(); ++i) {
    auto& it = loop.iterations[i];
    it.cluster = i % 10 == 9 ? 1 : 0;
    UserShares::Cluster& cluster = loop.clusters[static_cast<std::size_t>(it.cluster)];
    if (cluster.paths.empty()) cluster.paths = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}};
    cluster.on_cpu += it.user;
    for (auto& of : it.samples) {
      of.path = i < 500 ? random() % 2 : random() % 4 == 0 ? 0 : 2;
      cluster.paths[of.path].samples += of.samples;
      cluster.user_ticks += static_cast<double>(of.samples);
    }
  }
  for (auto& cluster : loop.clusters) {
    cluster.user_weight = cluster.user_ticks;
    for (auto& of : cluster.paths) of.time = cluster.on_cpu * static_cast<double>(of.samples) / cluster.user_ticks;
  }
  ASSERT_LT(loop.clusters[1].user_ticks, 60);
  const SharePools shares = test::estimate(loop, 0);
  for (std::size_t i = 9; i < 480; i += 10)
    EXPECT_EQ(share_at(shares.pool_of(test::facts_of(loop, i, 0))->shares, 2), 0);
  for (std::size_t i = 529; i < 1000; i += 10) {
    const SharePools::Pool& pool = *shares.pool_of(test::facts_of(loop, i, 0));
    EXPECT_NEAR(share_at(pool.shares, 2), 0.75, 0.08);
    EXPECT_GT(pool.samples, 150);
  }
}

/// Nothing was kept: each class is divided as its exact sums, whatever the others do.
TEST(UserShares, classes_without_kept_samples_have_their_own_sums) {
  std::vector<UserShares::Cluster> clusters(3);
  for (std::uint32_t k = 0; k < 3; ++k) {
    clusters[k].class_index = k;
    clusters[k].on_cpu = 10;
  }
  clusters[1].paths = {{0, 3, 10}};
  clusters[1].user_ticks = clusters[1].user_weight = 3;
  clusters[2].paths = {{1, 9000, 9}, {2, 1000, 1}};
  clusters[2].user_ticks = clusters[2].user_weight = 10000;
  UserShares shares(clusters);
  shares.grow();
  const auto iteration = [](std::int32_t cluster) {
    SharePools::Iteration of;
    of.cluster = cluster;
    of.least_on_cpu = of.most_on_cpu = of.cpu = 10;
    return of;
  };
  for (std::int32_t cluster = 0; cluster < 3; ++cluster) shares.weigh(iteration(cluster));
  const SharePools pools = shares.settle();
  EXPECT_TRUE(pools.pool_of(iteration(0))->shares.empty());
  EXPECT_EQ(pools.pool_of(iteration(0))->samples, 0);
  EXPECT_DOUBLE_EQ(share_at(pools.pool_of(iteration(1))->shares, 0), 1);
  EXPECT_DOUBLE_EQ(share_at(pools.pool_of(iteration(2))->shares, 1), 0.9);
  EXPECT_EQ(pools.pool_of(iteration(2))->samples, 10000);
}

/// Kept iterations are all of one kind; what the others did only the sums of their cluster say, and it is one call
/// path.
TEST(UserShares, one_call_path_of_a_cluster_is_told_apart_among_many) {
  std::mt19937_64 random(2);
  std::vector<UserShares::Cluster> clusters(2);
  std::map<std::uint32_t, std::int64_t> hits;
  std::vector<PathSamples> samples;
  for (int i = 0; i < 3000; ++i) {
    samples.push_back({static_cast<std::uint32_t>(random() % 20), 1});
    ++hits[samples.back().path];
  }
  for (const auto& [path, n] : hits) clusters[0].paths.push_back({path, n, static_cast<double>(n)});
  clusters[0].on_cpu = 3000;
  clusters[1].paths = {{30, 10, 10}};
  clusters[1].on_cpu = 10;
  UserShares shares(clusters);
  SharePools::Iteration kept, other;
  kept.kept = true;
  kept.least_on_cpu = kept.most_on_cpu = kept.cpu = 1;
  other = kept;
  other.kept = false;
  other.cluster = 1;
  for (const PathSamples& of : samples) shares.learn(0, kept.variables, {&of, 1});
  shares.grow();
  for (int i = 0; i < 3000; ++i) shares.weigh(kept);
  for (int i = 0; i < 10; ++i) shares.weigh(other);
  const SharePools pools = shares.settle();
  EXPECT_NEAR(share_at(pools.pool_of(other)->shares, 30), 1, 0.01);
  EXPECT_EQ(share_at(pools.pool_of(kept)->shares, 30), 0);
}

/// Iterations without kept samples, too: one of two and one of eight are kept.
TEST(UserShares, truth_is_within_three_errors_in_95_percent_of_the_rows) {
  for (const Behaviour behaviour :
       {Behaviour::Steady, Behaviour::Drift, Behaviour::Phases, Behaviour::Peaks, Behaviour::OddEven})
    for (const unsigned level : {0U, 1U, 3U}) {
      double within = 0, wrong = 0;
      constexpr int loops = 6;
      for (std::uint64_t seed = 1; seed <= loops; ++seed) {
        const auto got = test::compare(test::plant(behaviour, 2000, 10, seed), level);
        within += got.within / loops;
        wrong += got.wrong / loops;
        EXPECT_LT(got.apart, 1e-6) << "iterations add up to the run";
      }
      EXPECT_GE(within, 0.95) << "behaviour " << int(behaviour) << ", one of " << (1 << level);
      EXPECT_LE(wrong, 0.12) << "behaviour " << int(behaviour) << ", one of " << (1 << level);
    }
}

TEST(UserShares, iterations_add_up_to_the_run_after_rounding) {
  const auto loop = test::plant(Behaviour::Phases, 1000, 4, 5);
  const SharePools shares = test::estimate(loop, 1);
  constexpr double ticks = 1e6;
  std::vector<std::int64_t> sums(5, 0);
  std::int64_t all = 0;
  for (std::size_t i = 0; i < loop.iterations.size(); ++i) {
    const auto of = test::facts_of(loop, i, 1);
    const SharePools::Pool& pool = *shares.pool_of(of);
    std::vector<std::int64_t> weights;
    for (const auto& cell : pool.shares) weights.push_back(static_cast<std::int64_t>(cell.share * 0x1p50));
    const auto total = std::llround(pool.on_cpu(of) * ticks);
    const auto parts = share_by_largest_remainder(total, weights);
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < parts.size(); ++c) {
      sums[pool.shares[c].path] += parts[c];
      sum += parts[c];
    }
    ASSERT_EQ(sum, total) << "to the tick";
    all += total;
  }
  std::int64_t run = 0;
  for (std::uint32_t p = 0; p < sums.size(); ++p) {
    double time = 0;
    for (const auto& cluster : loop.clusters) time += cluster.paths[p].time;
    EXPECT_NEAR(static_cast<double>(sums[p]), time * ticks, 1000) << "a tick an iteration";
    run += sums[p];
  }
  EXPECT_EQ(run, all);
}

/// What only clusters know: one of them calls a function of its own, and no iteration of it was kept.
TEST(UserShares, iterations_without_samples_follow_the_sums_of_their_cluster) {
  auto loop = test::plant(Behaviour::Steady, 2000, 5, 9);
  for (auto& cluster : loop.clusters) cluster.paths[4] = {4, 0, 0};
  for (std::size_t i = 0; i < loop.iterations.size(); ++i) {
    auto& it = loop.iterations[i];
    it.cluster = format::KeptIterations{2}.has(i) ? it.cluster % 15 : 15;
  }
  for (auto& cluster : loop.clusters) {
    cluster.on_cpu = cluster.user_ticks = 0;
    for (auto& path : cluster.paths) path.samples = 0;
  }
  for (auto& it : loop.iterations) {
    auto& cluster = loop.clusters[static_cast<std::size_t>(it.cluster)];
    cluster.on_cpu += it.user;
    for (auto& of : it.samples) {
      if (it.cluster == 15) of.path = 4;
      else if (of.path == 4) of.path = 3;
      cluster.paths[of.path].samples += of.samples;
      cluster.user_ticks += static_cast<double>(of.samples);
    }
  }
  for (auto& cluster : loop.clusters)
    for (auto& path : cluster.paths)
      path.time = cluster.on_cpu * static_cast<double>(path.samples) / std::max(1.0, cluster.user_ticks);
  const SharePools shares = test::estimate(loop, 2);
  for (std::size_t i = 0; i < loop.iterations.size(); ++i) {
    const auto of = test::facts_of(loop, i, 2);
    EXPECT_NEAR(share_at(shares.pool_of(of)->shares, 4), of.cluster == 15 ? 1 : 0, of.kept ? 0.001 : 0.01);
  }
}

TEST(UserShares, time_on_a_cpu_is_within_what_is_certain_and_adds_up) {
  auto loop = test::plant(Behaviour::Steady, 500, 4, 2, 3, 1);
  UserShares::Cluster& cluster = loop.clusters[0];
  cluster.mpi_ticks = cluster.mpi_weight = cluster.user_ticks;
  const double all = cluster.on_cpu;
  cluster.on_cpu = 0.7 * all;  // by the time rules; between half of it and all
  for (auto& path : cluster.paths) path.time *= 0.7;
  UserShares shares(loop.clusters);
  const auto facts = [&](std::size_t i) {
    auto of = test::facts_of(loop, i, 0);
    of.least_on_cpu = 0.5 * loop.iterations[i].user;
    of.mpi_ticks = of.user_ticks;
    return of;
  };
  for (std::size_t i = 0; i < 500; ++i) shares.learn(0, facts(i).variables, loop.iterations[i].samples);
  shares.grow();
  for (std::size_t i = 0; i < 500; ++i) shares.weigh(facts(i));
  const SharePools pools = shares.settle();
  double sum = 0;
  for (std::size_t i = 0; i < 500; ++i) {
    const double on = pools.pool_of(facts(i))->on_cpu(facts(i));
    EXPECT_GE(on, facts(i).least_on_cpu - 1e-9);
    EXPECT_LE(on, facts(i).most_on_cpu + 1e-9);
    sum += on;
  }
  EXPECT_NEAR(sum, 0.7 * all, 1e-6 * all);
}

TEST(UserShares, what_no_sample_hit_has_an_error_of_one_in_n) {
  SharePools::Pool pool;
  pool.samples = 200;
  EXPECT_DOUBLE_EQ(pool.error_of(0, {}), 1.0 / 200);
  EXPECT_DOUBLE_EQ(pool.error_of(0.5, {}), std::sqrt(0.25 / 200));
  const ShareSpread ramp{{-0.15F, -0.05F, 0.05F, 0.15F}, 0};
  EXPECT_NEAR(pool.error_of(0.5, ramp), std::sqrt(0.0125 - 3 * 0.25 / 200), 1e-6);
}

}  // namespace
}  // namespace refrain::run

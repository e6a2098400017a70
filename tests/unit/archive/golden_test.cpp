// Profiles that earlier versions wrote stay readable: tests/golden/profile-<format version>.
// A new format version adds a directory there (REFRAIN_WRITE_GOLDEN=<new directory> writes one); none is ever changed.

#include <cstdlib>
#include <gtest/gtest.h>

#include "archive/manifest.hpp"
#include "archive/writer.hpp"
#include "offline/analysis/iteration_samples.hpp"
#include "offline/analysis/iterations.hpp"
#include "offline/experiment/experiment.hpp"
#include "tests/unit/archive/sample_job.hpp"
#include "tests/unit/archive/thread_peers.hpp"

namespace refrain::testing {
namespace {

constexpr int golden_ranks = 3;

TEST(Golden, writes_a_new_one_on_demand) {
  const char* directory = std::getenv("REFRAIN_WRITE_GOLDEN");
  if (!directory) GTEST_SKIP() << "REFRAIN_WRITE_GOLDEN is not set";
  put_manifest(directory, golden_ranks);
  EXPECT_TRUE(write_job(directory, golden_ranks, [](int rank) {
    SampleRank sample = sample_rank(rank, golden_ranks, 2, 40);
    for (std::size_t thread = 0; thread < 2; ++thread) {
      sample.add_loop(thread, "timestep", 4, 150);
      sample.add_samples_and_slopes(thread, thread == 0 ? 512 : 1 << 16);
    }
    sample.add_loop(1, "inner", 1, 3);
    sample.add_communicator({1, 0, 5, 0, rank, golden_ranks, 0, "", {}, 70 + rank}, {0, 1, 2});
    sample.add_window({1, measurement::WindowKind::Allocated, "halo", 9}, {{0, (rank + 1) % 3, 1, 20, 300, 4000}});
    sample.add_window({0, measurement::WindowKind::Dynamic, ""}, {});
    return sample;
  }));
}

TEST(Golden, version_1_0) {
  const experiment::WholeExperiment experiment = experiment::read_experiment(GOLDEN "/profile-1.0");
  const experiment::Profile& profile = experiment.profile;
  EXPECT_EQ(experiment.manifest.state, "incomplete");
  EXPECT_EQ(profile.version, "0.1.0");
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 3u);
  // Numbers read off when the file was written, not computed anew.
  EXPECT_EQ(profile.paths.size(), 545u);
  const experiment::Unit& unit = profile.ranks[2].locations[1].units[0];
  EXPECT_EQ(profile.ranks[2].locations[1].own_times[0].timed, 0);  // they were not known then
  EXPECT_EQ(unit.wall, 1'000'002);
  EXPECT_EQ(unit.own, 22);
  std::int64_t mixed = 0;
  for (const std::int64_t value : unit.columns) mixed ^= value;
  EXPECT_EQ(mixed, 437'691'951'620'338'572);
  EXPECT_EQ(profile.ranks[1].locations[0].losses[3], 3);
  EXPECT_EQ(profile.ranks[1].host, "node0");
  EXPECT_EQ(profile.regions, (std::vector<std::string>{"MPI_Allreduce", "MPI_Recv", "MPI_Send", "MPI_Waitall"}));
}

TEST(Golden, version_1_1) {
  const experiment::Profile profile = experiment::read_experiment(GOLDEN "/profile-1.1").profile;
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 3u);
  EXPECT_EQ(profile.paths.size(), 545u);
  ASSERT_EQ(profile.ranks[2].locations[1].loops.size(), 2u);
  const experiment::Loop& loop = profile.ranks[2].locations[1].loops[0];
  EXPECT_EQ(loop.name, "timestep");
  EXPECT_EQ(loop.clusters.size(), 4u);
  EXPECT_EQ(loop.clusters[3].members, 13);
  ASSERT_EQ(loop.merges.size(), 1u);
  EXPECT_EQ(experiment::read_merges(loop.merges[0]).size(), 7u);
  EXPECT_TRUE(loop.samples.empty());
  EXPECT_TRUE(loop.slopes.empty());
  EXPECT_EQ(profile.ranks[2].locations[1].units.size(), 6u);
  // Numbers read off when the file was written, not computed anew.
  std::int64_t iterations = 0, walls = 0, clusters = 0;
  analysis::for_each_iteration(loop, [&](std::int64_t, std::int32_t cluster, auto row) {
    ++iterations;
    walls += row[0];
    clusters += cluster;
  });
  EXPECT_EQ(iterations, 150);
  EXPECT_EQ(walls, 150'300);
  EXPECT_EQ(clusters, 368);
}

TEST(Golden, version_1_2) {
  const experiment::Profile profile = experiment::read_experiment(GOLDEN "/profile-1.2").profile;
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 3u);
  const experiment::Rank& rank = profile.ranks[2];
  ASSERT_EQ(rank.locations[1].loops.size(), 2u);
  const experiment::Loop& loop = rank.locations[1].loops[0];
  // Numbers read off when the file was written, not computed anew.
  std::int64_t walls = 0, samples = 0, paths = 0;
  analysis::IterationSamples recorded(profile, rank, loop);
  analysis::for_each_iteration(loop, [&](std::int64_t i, std::int32_t, auto row) {
    walls += row[0];
    const auto* of = recorded.of(i);
    ASSERT_NE(of, nullptr);
    for (const auto& path : *of) {
      samples += path.samples;
      paths += path.path;
    }
  });
  EXPECT_EQ(walls, 150'300);
  EXPECT_EQ(samples, 1113);
  EXPECT_EQ(paths, 277'282);
  ASSERT_EQ(loop.slopes.size(), 2u);
  double slopes = 0;
  for (const auto& of : loop.slopes[1].paths)
    for (std::size_t c = 0; c < 6; ++c) slopes += static_cast<double>(of.first[c]) + static_cast<double>(of.second[c]);
  EXPECT_NEAR(slopes, 46.006, 1e-3);
  EXPECT_EQ(loop.follows[5].second, 7);
  EXPECT_TRUE(rank.locations[1].loops[1].samples.empty());
}

TEST(Golden, version_1_3) {
  const experiment::Profile profile = experiment::read_experiment(GOLDEN "/profile-1.3").profile;
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 3u);
  const experiment::Rank& rank = profile.ranks[2];
  ASSERT_EQ(rank.communicators.size(), 2u);
  EXPECT_EQ(rank.communicators[0].made, 1);
  EXPECT_EQ(rank.communicators[1].made, 72);
  ASSERT_EQ(rank.windows.size(), 2u);
  EXPECT_EQ(rank.windows[0].communicator, 1);
  EXPECT_EQ(rank.windows[0].kind, measurement::WindowKind::Allocated);
  EXPECT_EQ(rank.windows[0].made, 9);
  EXPECT_EQ(rank.windows[0].name, "halo");
  ASSERT_EQ(rank.windows[0].targets.size(), 1u);
  EXPECT_EQ(rank.windows[0].targets[0].target, 0);
  EXPECT_EQ(rank.windows[0].targets[0].bytes_put, 20);
  EXPECT_EQ(rank.windows[0].targets[0].bytes_got, 4000);
  EXPECT_EQ(rank.windows[1].kind, measurement::WindowKind::Dynamic);
  EXPECT_TRUE(rank.windows[1].targets.empty());
  EXPECT_EQ(rank.locations[1].loops.size(), 2u);
}

TEST(Golden, version_1_4) {
  const experiment::Profile profile = experiment::read_experiment(GOLDEN "/profile-1.4").profile;
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 3u);
  const experiment::Rank& rank = profile.ranks[2];
  ASSERT_EQ(rank.locations[1].loops.size(), 2u);
  // Numbers read off when the file was written, not computed anew.
  const experiment::Loop& loop = rank.locations[0].loops[0];
  analysis::IterationSamples recorded(profile, rank, loop);
  EXPECT_EQ(recorded.stride(), 4u);
  std::int64_t kept = 0, numbers = 0, samples = 0;
  for (std::int64_t i = 0; i < 150; ++i)
    if (const auto* of = recorded.of(i)) {
      ++kept;
      numbers += i * i;
      for (const auto& path : *of) samples += path.samples;
    }
  EXPECT_EQ(kept, 38);
  EXPECT_EQ(numbers, 288'405);
  EXPECT_EQ(samples, 287);
}

TEST(Golden, version_1_5) {
  const experiment::Profile profile = experiment::read_experiment(GOLDEN "/profile-1.5").profile;
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 3u);
  const auto& own_times = profile.ranks[2].locations[1].own_times;
  const auto& tick = own_times[static_cast<std::size_t>(measurement::OwnTime::Tick)];
  EXPECT_EQ(own_times[static_cast<std::size_t>(measurement::OwnTime::Call)].timed, 0);
  EXPECT_EQ(tick.timed, 2);
  EXPECT_EQ(tick.mean, 101.5);
  EXPECT_EQ(tick.error, 0.25);
  EXPECT_EQ(own_times[static_cast<std::size_t>(measurement::OwnTime::Mark)].mean, 104.5);
  EXPECT_EQ(profile.ranks[2].windows.size(), 2u);
  EXPECT_FALSE(profile.ranks[2].locations[1].run);  // it was not known then
}

TEST(Golden, version_1_6) {
  const experiment::Profile profile = experiment::read_experiment(GOLDEN "/profile-1.6").profile;
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 3u);
  EXPECT_EQ(profile.ranks[2].locations[1].loops.size(), 2u);
  EXPECT_EQ(profile.ranks[2].locations[1].units.size(), 6u);
  ASSERT_TRUE(profile.ranks[2].locations[1].run);
  // Numbers read off when the file was written, not computed anew.
  const experiment::RunTotals& run = *profile.ranks[2].locations[1].run;
  EXPECT_EQ(run.totals.wall, 6'000'018);
  EXPECT_EQ(run.totals.weight_user_squared, 9'000'000'000'012);
  EXPECT_EQ(run.times.wall, 6'000'018);
  EXPECT_EQ(run.times.mpi, 1'800'012);
  EXPECT_EQ(run.times.refrain, 13'278);
  EXPECT_EQ(run.times.user, 4'186'728);
  EXPECT_EQ(run.times.cpu, 7'200'024);
  ASSERT_EQ(run.paths.size(), 40u);
  ASSERT_EQ(run.columns.size(), 192u);
  std::int64_t ticks = 0, mixed = 0, columns = 0;
  for (const auto& row : run.paths) {
    ticks += row.ticks;
    mixed ^= row.ticks * (std::int64_t{row.path} + 1);
  }
  for (const std::int64_t value : run.columns) columns ^= value;
  EXPECT_EQ(ticks, 5'986'740);
  EXPECT_EQ(mixed, 916'404'352);
  EXPECT_EQ(columns, -1'990'096'420'404'009'128);
}

}  // namespace
}  // namespace refrain::testing

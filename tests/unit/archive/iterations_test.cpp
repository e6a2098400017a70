// Loops, clusters and iterations: written, spilled, and read again.

#include "analysis/iterations.hpp"

#include <cerrno>
#include <gtest/gtest.h>

#include "archive/compressor.hpp"
#include "archive/iteration_frames.hpp"
#include "archive/reader.hpp"
#include "archive/spill_file.hpp"
#include "archive/writer.hpp"
#include "measurement/iterations.hpp"
#include "tests/unit/archive/sample_job.hpp"

namespace refrain::testing {
namespace {

using archive::format::FrameKind;

archive::Experiment write_and_read(archive::RankRecord& record, const ScratchDirectory& directory) {
  put_manifest(directory.path, 1);
  EXPECT_TRUE(archive::write_profile(record, {}, directory.c_str(), 0).written);
  return archive::read_experiment(directory.path);
}

/// Every iteration is there, in order, with its vector (as far as it is kept) and the cluster that its label became.
void expect_sample_iterations(const archive::Loop& loop, int from, int count, int clusters) {
  int at = from;
  const auto read = analysis::for_each_iteration(loop, [&](std::int64_t iteration, std::int32_t cluster, auto row) {
    ASSERT_EQ(iteration, at);
    ASSERT_EQ(cluster, std::min<int>(static_cast<int>(sample_label(at)), clusters - 1));
    for (std::size_t m = 0; m < measurement::overall_count; ++m) {
      const auto precision = measurement::overall_table[m].precision;
      const std::int64_t truth = precision == clustering::Precision::NotKept ? 0 : sample_overall(at, m);
      if (precision == clustering::Precision::Exact) ASSERT_EQ(row[m], truth);
      else ASSERT_NEAR(static_cast<double>(row[m]), static_cast<double>(truth), 5e-4 * static_cast<double>(truth));
    }
    ++at;
  });
  EXPECT_EQ(read, count);
  EXPECT_EQ(at, from + count);
}

TEST(Iterations, of_several_loops_and_threads_come_back) {
  SampleRank sample = sample_rank_with_loops(0, 1, 2, 30);
  const ScratchDirectory directory;
  const archive::Experiment experiment = write_and_read(sample.record(), directory);
  const archive::Rank& rank = experiment.profile.ranks[0];
  ASSERT_EQ(rank.locations[0].loops.size(), 1u);
  ASSERT_EQ(rank.locations[1].loops.size(), 2u);
  EXPECT_EQ(rank.locations[1].loops[1].name, "inner");
  const archive::Loop& loop = rank.locations[0].loops[0];
  EXPECT_EQ(loop.name, "timestep");
  EXPECT_EQ(loop.iterations, 150);
  ASSERT_EQ(loop.clusters.size(), 4u);
  const archive::Cluster& cluster = loop.clusters[2];
  EXPECT_EQ(cluster.label, 2u);
  EXPECT_EQ(cluster.class_index, 2u);
  EXPECT_TRUE(cluster.overflow);
  EXPECT_EQ(cluster.members, 12);
  EXPECT_EQ(cluster.first, 2);
  EXPECT_EQ(cluster.last, 102);
  EXPECT_EQ(cluster.exemplar, 52);
  EXPECT_EQ(cluster.minimum[3], 5);
  EXPECT_EQ(cluster.maximum[3], 2003);
  EXPECT_EQ(cluster.squares[3], 0.5);
  EXPECT_EQ(loop.metrics.size(), measurement::overall_count);
  ASSERT_EQ(rank.locations[0].units.size(), 5u);
  EXPECT_EQ(rank.locations[0].units[3].cluster, 2);
  expect_sample_iterations(loop, 0, 150, 4);
  expect_sample_iterations(rank.locations[1].loops[1], 0, 3, 1);
}

class Spilled : public ::testing::Test {
 protected:
  /// Iterations of before, in the file of rank 0: blocks and merges of loop 0 of thread 0, in two pieces.
  void SetUp() override {
    SampleRank early = sample_rank_with_loops(0, 1, 1, 30);
    const archive::LoopRecord& loop = early.record().locations[0].loops[0];
    for (const auto piece : {loop.log, loop.log_tail}) {
      platform::Bytes frames;
      ASSERT_TRUE(archive::append_frame(FrameKind::Log, 0, 0, piece, compressor, frames));
      ASSERT_EQ(file.append(directory.c_str(), 0, frames.view()), 0);
    }
    // Frames of kinds and loops that nobody knows are passed over.
    platform::Bytes frames;
    ASSERT_TRUE(archive::append_frame(FrameKind{77}, 0, 0, loop.log, compressor, frames));
    ASSERT_TRUE(archive::append_frame(FrameKind::Log, 9, 0, loop.log, compressor, frames));
    ASSERT_EQ(file.append(directory.c_str(), 0, frames.view()), 0);
  }
  /// A rank whose log is empty but for what was spilled.
  SampleRank later() {
    SampleRank sample(0, 1, sample_modules(0));
    sample.add_thread(sample_tree(0, 0, 30));
    sample.add_loop(0, "timestep", 4, 0);
    return sample;
  }
  ScratchDirectory directory;
  archive::Compressor compressor;
  archive::SpillFile file;
};

TEST_F(Spilled, iterations_stay_in_their_file) {
  SampleRank sample = later();
  sample.record().spilled_bytes = file.bytes();
  const archive::Experiment experiment = write_and_read(sample.record(), directory);
  expect_sample_iterations(experiment.profile.ranks[0].locations[0].loops[0], 0, 150, 4);
}

TEST_F(Spilled, iterations_are_taken_into_the_profile) {
  platform::MappedFile mapped;
  ASSERT_EQ(file.map(directory.c_str(), 0, mapped), 0);
  SampleRank sample = later();
  sample.record().early_iterations = mapped.bytes();
  const std::uint64_t spilled = file.bytes();
  file.remove(directory.c_str(), 0);
  EXPECT_GT(spilled, 0u);
  const archive::Experiment experiment = write_and_read(sample.record(), directory);
  expect_sample_iterations(experiment.profile.ranks[0].locations[0].loops[0], 0, 150, 4);
}

TEST_F(Spilled, what_a_snapshot_did_not_know_yet_is_left_alone) {
  SampleRank sample = later();
  sample.record().spilled_bytes = file.bytes();
  write_file(directory.path + "/iterations-0.refrain",
             read_file(directory.path + "/iterations-0.refrain") + "half a fra");
  const archive::Experiment experiment = write_and_read(sample.record(), directory);
  expect_sample_iterations(experiment.profile.ranks[0].locations[0].loops[0], 0, 150, 4);
}

TEST_F(Spilled, damage_is_named_with_its_place) {
  const auto error_of = [&] {
    try {
      (void)archive::read_experiment(directory.path);
    } catch (const archive::ReadError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  SampleRank sample = later();
  sample.record().spilled_bytes = file.bytes();
  EXPECT_EQ(write_and_read(sample.record(), directory).profile.ranks.size(), 1u);
  const std::string path = directory.path + "/iterations-0.refrain", good = read_file(path);
  std::string bad = good;
  bad[40] ^= 1;
  write_file(path, bad);
  EXPECT_EQ(error_of(), path + ": at byte 0: a frame of iterations has a wrong checksum");
  write_file(path, good.substr(0, 100));
  EXPECT_EQ(error_of(), path + ": at byte 100: is shorter than the profile says");
  std::filesystem::remove(path);
  EXPECT_NE(error_of().find("No such file"), std::string::npos) << error_of();
}

TEST_F(Spilled, a_failed_write_is_told_and_leaves_the_count) {
  const std::uint64_t before = file.bytes();
  platform::Bytes frames;
  const std::byte some[3] = {};
  ASSERT_TRUE(archive::append_frame(FrameKind::Log, 0, 0, some, compressor, frames));
  errno = 1234;
  EXPECT_EQ(file.append("/nowhere/at/all", 0, frames.view()), ENOENT);
  EXPECT_EQ(errno, 1234);
  EXPECT_EQ(file.bytes(), before);
}

}  // namespace
}  // namespace refrain::testing

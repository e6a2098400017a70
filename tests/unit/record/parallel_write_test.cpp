// Many ranks write one file. The ranks are threads here; the truth is computed from the data that each was given.

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>

#include "offline/experiment/experiment.hpp"
#include "record/tree_exchange.hpp"
#include "record/writer.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/thread_peers.hpp"
#include "tests/unit/record/whole_experiment.hpp"

namespace refrain::testing {
namespace {

using experiment::Profile;
using record::WriteOutcome;

constexpr int threads_of(int rank) { return 1 + rank % 3; }
constexpr int paths_per_thread = 80;

std::vector<WriteOutcome> outcomes_of(ThreadJob& job, int ranks, const std::string& directory, double seconds,
                                      const std::vector<int>& silent = {}) {
  std::vector<WriteOutcome> outcomes(static_cast<std::size_t>(ranks));
  const std::int64_t deadline = seconds_from_now(seconds);
  job.run(
      [&](int rank) {
        SampleRank sample = sample_rank(rank, ranks, threads_of(rank), paths_per_thread);
        outcomes[static_cast<std::size_t>(rank)] =
            record::write_profile(sample.record(), job.peers(rank), directory.c_str(), deadline);
      },
      silent);
  return outcomes;
}

/// All prefixes of all paths of all ranks except those in `missing`, which must make up the unified tree.
std::set<Path> true_tree(int ranks, const std::vector<int>& missing = {}) {
  std::set<Path> all{{}};
  for (int rank = 0; rank < ranks; ++rank) {
    if (std::find(missing.begin(), missing.end(), rank) != missing.end()) continue;
    for (int thread = 0; thread < threads_of(rank); ++thread)
      for (const auto& [path, values] : sample_tree(rank, thread, paths_per_thread))
        for (std::size_t n = 1; n <= path.size(); ++n)
          all.emplace(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(n));
  }
  return all;
}

void expect_truth(const Profile& profile, int ranks, const std::vector<int>& missing = {}) {
  const std::vector<Path> paths = paths_of(profile);
  EXPECT_EQ(std::set<Path>(paths.begin(), paths.end()), true_tree(ranks, missing));
  EXPECT_EQ(paths.size(), true_tree(ranks, missing).size()) << "each path is defined once";
  EXPECT_EQ(profile.ranks_expected, ranks);
  ASSERT_EQ(profile.ranks.size(), static_cast<std::size_t>(ranks) - missing.size());
  int last = -1;
  for (const experiment::Rank& rank : profile.ranks) {
    EXPECT_GT(rank.rank, last);
    last = rank.rank;
    EXPECT_EQ(rank.process_id, 1000 + rank.rank);
    ASSERT_EQ(rank.locations.size(), static_cast<std::size_t>(threads_of(rank.rank)));
    for (const experiment::Location& location : rank.locations) {
      EXPECT_EQ(location.rank, rank.rank);
      ASSERT_EQ(location.units.size(), 1u);
      EXPECT_EQ(values_of(profile, location.units[0]),
                with_values(sample_tree(rank.rank, location.thread, paths_per_thread)));
    }
    ASSERT_EQ(rank.communicators.size(), 1u);
    EXPECT_EQ(rank.communicators[0].members.size(), static_cast<std::size_t>(ranks));
  }
}

class RanksWrite : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, RanksWrite, ::testing::Values(1, 2, 3, 7, 8, 64));

TEST_P(RanksWrite, one_file_with_the_union_of_their_trees_and_their_exact_values) {
  const int ranks = GetParam();
  ScratchDirectory directory;
  put_manifest(directory.path, ranks);
  ThreadJob job(ranks);
  for (const WriteOutcome& outcome : outcomes_of(job, ranks, directory.path, 60)) {
    EXPECT_TRUE(outcome.written);
    EXPECT_STREQ(outcome.line, "");
  }
  const Profile profile = experiment::read_experiment(directory.path).profile;
  EXPECT_TRUE(profile.complete);
  expect_truth(profile, ranks);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path)) files += entry.is_regular_file();
  EXPECT_EQ(files, 2u) << "the profile and the manifest, nothing else";
}

TEST_P(RanksWrite, the_same_file_every_time) {
  ScratchDirectory first, second;
  ThreadJob job_a(GetParam()), job_b(GetParam());
  outcomes_of(job_a, GetParam(), first.path, 60);
  outcomes_of(job_b, GetParam(), second.path, 60);
  EXPECT_EQ(read_file(first.path + "/profile.refrain"), read_file(second.path + "/profile.refrain"));
}

TEST(ParallelWrite, a_module_known_by_two_paths_is_one_with_the_first_of_them) {
  ScratchDirectory directory;
  put_manifest(directory.path, 4);
  ThreadJob job(4);
  outcomes_of(job, 4, directory.path, 60);
  const Profile profile = experiment::read_experiment(directory.path).profile;
  std::set<std::string> paths;
  for (const auto& module : profile.modules) EXPECT_TRUE(paths.insert(module.path).second);
  EXPECT_EQ(paths, (std::set<std::string>{"/lib/libthread.so", "/node/a/lib.so", "/opt/app"}));
}

TEST(ParallelWrite, a_silent_rank_costs_the_deadline_and_only_its_own_data) {
  for (const int silent : {0, 3, 6}) {
    ScratchDirectory directory;
    put_manifest(directory.path, 7);
    ThreadJob job(7);
    const auto outcomes = outcomes_of(job, 7, directory.path, 0.3, {silent});
    for (int rank = 0; rank < 7; ++rank)
      EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)].written, rank != silent) << rank;
    int lines = 0;
    for (const WriteOutcome& outcome : outcomes) lines += outcome.line[0] != '\0';
    EXPECT_EQ(lines, silent == 0 ? 0 : 1);
    const Profile profile = experiment::read_experiment(directory.path).profile;
    EXPECT_FALSE(profile.complete);
    expect_truth(profile, 7, {silent});
  }
}

TEST(ParallelWrite, exchanges_that_break_at_any_point_lose_nothing) {
  for (int rank = 0; rank < 7; ++rank)
    for (int messages = 0; messages < 9; ++messages) {
      ScratchDirectory directory;
      put_manifest(directory.path, 7);
      ThreadJob job(7);
      job.break_after(rank, messages);
      const auto outcomes = outcomes_of(job, 7, directory.path, 0.05);
      for (const WriteOutcome& outcome : outcomes) EXPECT_TRUE(outcome.written) << rank << " " << messages;
      expect_truth(experiment::read_experiment(directory.path).profile, 7);
    }
}

TEST(ParallelWrite, a_rank_that_cannot_reach_the_directory_is_named_once_and_the_others_are_kept) {
  ScratchDirectory directory;
  put_manifest(directory.path, 5);
  ThreadJob job(5);
  std::vector<WriteOutcome> outcomes(5);
  job.run([&](int rank) {
    SampleRank sample = sample_rank(rank, 5, threads_of(rank), paths_per_thread);
    const std::string where = rank == 3 ? "/nowhere/at/all" : directory.path;
    outcomes[static_cast<std::size_t>(rank)] =
        record::write_profile(sample.record(), job.peers(rank), where.c_str(), seconds_from_now(60));
  });
  EXPECT_FALSE(outcomes[3].written);
  EXPECT_EQ(std::string(outcomes[0].line),
            "'" + directory.path + "/profile.refrain' lacks rank 3 (No such file or directory); its data is lost");
  for (int rank = 1; rank < 5; ++rank) EXPECT_STREQ(outcomes[static_cast<std::size_t>(rank)].line, "");
  const Profile profile = experiment::read_experiment(directory.path).profile;
  EXPECT_FALSE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 4u);
  for (const experiment::Rank& rank : profile.ranks) EXPECT_NE(rank.rank, 3);
}

TEST(ParallelWrite, no_directory_at_all_is_one_line) {
  ThreadJob job(6);
  const auto outcomes = outcomes_of(job, 6, "/nowhere/at/all", 60);
  for (int rank = 1; rank < 6; ++rank) EXPECT_STREQ(outcomes[static_cast<std::size_t>(rank)].line, "");
  EXPECT_EQ(std::string(outcomes[0].line),
            "'/nowhere/at/all/profile.refrain' lacks 6 of 6 ranks, the first is rank 0 (No such file or directory); "
            "the data of 6 is lost");
}

TEST(ParallelWrite, parts_alone_are_an_experiment) {
  ScratchDirectory directory;
  put_manifest(directory.path, 4);
  for (const int rank : {2, 0, 3}) {
    SampleRank sample = sample_rank(rank, 4, threads_of(rank), paths_per_thread);
    const WriteOutcome outcome = record::write_part(sample.record(), directory.c_str());
    EXPECT_TRUE(outcome.written) << outcome.line;
  }
  const Profile profile = experiment::read_experiment(directory.path).profile;
  EXPECT_FALSE(profile.complete);
  expect_truth(profile, 4, {1});
}

class TreeOfRanks : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, TreeOfRanks, ::testing::Values(1, 2, 3, 5, 8, 13, 64, 100));

TEST_P(TreeOfRanks, has_every_rank_below_its_parent_once) {
  std::vector<int> parents(static_cast<std::size_t>(GetParam()), -1);
  for (int rank = 0; rank < GetParam(); ++rank) {
    const record::TreePosition position = record::position_in_tree(rank, GetParam());
    for (int i = 0; i < position.children; ++i) {
      EXPECT_EQ(parents[static_cast<std::size_t>(position.child[i])], -1);
      parents[static_cast<std::size_t>(position.child[i])] = rank;
    }
  }
  for (int rank = 1; rank < GetParam(); ++rank)
    EXPECT_EQ(record::position_in_tree(rank, GetParam()).parent, parents[static_cast<std::size_t>(rank)]);
}

TEST_P(TreeOfRanks, broadcast_reaches_all) {
  ThreadJob job(GetParam());
  std::vector<std::string> got(static_cast<std::size_t>(GetParam()));
  job.run([&](int rank) {
    platform::Bytes message;
    if (rank == 0) {
      ASSERT_TRUE(message.append(reinterpret_cast<const std::byte*>("hello"), 5));
    }
    ASSERT_TRUE(record::broadcast(job.peers(rank), message, seconds_from_now(60)));
    got[static_cast<std::size_t>(rank)] = {reinterpret_cast<const char*>(message.data()), message.size()};
  });
  for (const std::string& text : got) EXPECT_EQ(text, "hello");
}

TEST(TreeOfRanksFailing, broadcast_without_the_root_ends_at_the_deadline) {
  ThreadJob job(5);
  std::vector<int> good(5, 2);
  job.run(
      [&](int rank) {
        platform::Bytes message;
        good[static_cast<std::size_t>(rank)] = record::broadcast(job.peers(rank), message, seconds_from_now(0.1));
      },
      {0});
  for (int rank = 1; rank < 5; ++rank) EXPECT_EQ(good[static_cast<std::size_t>(rank)], 0);
}

}  // namespace
}  // namespace refrain::testing

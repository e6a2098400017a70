// Which cores there were, and which ranks shared them.
#include "offline/analysis/cores.hpp"

#include <gtest/gtest.h>

namespace refrain::analysis {
namespace {

experiment::Rank rank_on(const std::string& host, std::vector<experiment::Cores::Run> cores, int threads = 1,
                         double cpu_s = 1, std::int64_t quota = 0) {
  experiment::Rank rank;
  rank.host = host;
  rank.cores = {cores, cores, quota};
  for (int t = 0; t < threads; ++t) {
    experiment::Location& location = rank.locations.emplace_back();
    location.thread = t;
    location.end = 1'000'000'000;
    location.run.emplace();
    location.run->totals.cpu_ns = static_cast<std::int64_t>(cpu_s * 1e9);
  }
  return rank;
}

std::vector<std::string> sentences(const std::vector<experiment::Rank>& ranks) {
  CoreUse use;
  for (const auto& rank : ranks) use.add(rank);
  std::vector<std::string> all;
  for (const auto& of : use.shared()) all.push_back(sentence(of, true));
  return all;
}

TEST(Cores, more_ranks_than_cores_are_said_and_enough_cores_are_not) {
  const std::vector<experiment::Rank> four(4, rank_on("a", {{0, 2}}));
  EXPECT_EQ(sentences(four), std::vector<std::string>{"4 ranks share 2 cores of a"});
  EXPECT_TRUE(sentences({rank_on("a", {{0, 1}}), rank_on("a", {{1, 1}})}).empty());
  EXPECT_TRUE(sentences({rank_on("a", {{0, 8}}), rank_on("b", {{0, 8}})}).empty());
}

TEST(Cores, ranks_that_are_bound_to_one_core_share_it_however_many_there_are) {
  EXPECT_EQ(sentences({rank_on("a", {{3, 1}}), rank_on("a", {{3, 1}}), rank_on("a", {{0, 8}})}),
            std::vector<std::string>{"2 ranks share 1 core of a"});
}

TEST(Cores, threads_share_cores_when_they_use_them_and_not_when_they_sleep) {
  EXPECT_EQ(sentences({rank_on("a", {{0, 4}}, 8, 0.5)}),
            std::vector<std::string>{"8 threads of 1 rank share 4 cores of a"});
  EXPECT_TRUE(sentences({rank_on("a", {{0, 4}}, 8, 0.2)}).empty());
}

TEST(Cores, a_quota_is_what_there_is) {
  const std::vector<experiment::Rank> four(4, rank_on("a", {{0, 8}}, 1, 1, 1500));
  EXPECT_EQ(sentences(four),
            std::vector<std::string>{"4 ranks share 1.5 cores by the quota of their control group of a"});
  EXPECT_EQ(sentences(std::vector<experiment::Rank>(2, rank_on("a", {{0, 8}}, 1, 1, 1000))),
            std::vector<std::string>{"2 ranks share 1 core by the quota of their control group of a"});
}

/// Ranks of one control group tell the same.
TEST(Cores, time_held_back_by_quotas_is_that_of_the_rank_with_most) {
  experiment::Rank first = rank_on("a", {{0, 8}}), second = first, other = rank_on("b", {{0, 8}});
  first.cores.throttled_ns = 2'000'000'000;
  second.cores.throttled_ns = 2'500'000'000;
  CoreUse use;
  for (const auto& rank : {first, second, other}) use.add(rank);
  EXPECT_EQ(2.5, use.nodes()[0].throttled_s);
  EXPECT_EQ(std::nullopt, use.nodes()[1].throttled_s);
}

TEST(Cores, what_earlier_versions_did_not_record_is_not_known) {
  const std::vector<experiment::Rank> old(4, rank_on("a", {}));
  EXPECT_TRUE(sentences(old).empty());
  CoreUse use;
  for (const auto& rank : old) use.add(rank);
  EXPECT_FALSE(use.nodes().at(0).cores);
  EXPECT_EQ(core_list({{0, 4}, {8, 1}}), "0-3,8");
}

}  // namespace
}  // namespace refrain::analysis

// 100,000 damaged files, the same ones every time: each is read or refused with a ReadError, nothing else.

#include <gtest/gtest.h>
#include <map>

#include "offline/analysis/windows.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/experiment/manifest_reader.hpp"
#include "offline/run/iteration_samples.hpp"
#include "offline/run/iterations.hpp"
#include "tests/fuzz/archive/file_surgery.hpp"
#include "tests/fuzz/archive/mutations.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/whole_experiment.hpp"

namespace refrain::testing {
namespace {

using experiment::Profile;

/// Values by call path: ascending, of paths that are there, each with all its columns among `columns`.
void check_rows(const Profile& profile, const auto& rows, std::size_t columns, auto columns_of) {
  std::int64_t last_path = -1;
  for (const auto& row : rows) {
    ASSERT_GT(row.path, last_path);
    last_path = row.path;
    ASSERT_LT(row.path, profile.paths.size());
    ASSERT_LE(row.first + columns_of(profile.paths[row.path].kind), columns);
  }
}
void check_extra(const Profile& profile, const experiment::ExtraValues& extra) {
  check_rows(profile, extra.values, extra.columns.size(), [&](auto) { return extra.totals.size(); });
}

void check_run(const Profile& profile, const experiment::Rank& rank, const experiment::RunTotals& run) {
  ASSERT_LE(run.extra.totals.size(), rank.extra_metrics.size());
  ASSERT_EQ(run.extra_no_path.size(), run.extra.totals.size());
  check_rows(profile, run.paths, run.columns.size(), format::columns_of);
  check_extra(profile, run.extra);
}

/// What the rest of the program relies on in a profile that was accepted.
void check_invariants(const Profile& profile) {
  ASSERT_FALSE(profile.paths.empty());
  for (std::size_t i = 0; i < profile.paths.size(); ++i) {
    const auto& path = profile.paths[i];
    ASSERT_TRUE(i == 0 || path.parent < i);
    ASSERT_LT(path.module, static_cast<std::int64_t>(profile.modules.size()));
    if (path.kind == format::NodeKind::Region) {
      ASSERT_LT(path.offset, profile.regions.size());
    }
  }
  std::vector<const experiment::RankDefinition*> ranks;
  for (const auto& rank : profile.ranks) ranks.push_back(&rank);
  const analysis::JobWindows job = analysis::match_windows(ranks);
  for (std::size_t r = 0; r < profile.ranks.size(); ++r) {
    ASSERT_EQ(job.of_rank[r].size(), profile.ranks[r].windows.size());
    for (const std::size_t number : job.of_rank[r]) ASSERT_LT(number, job.windows.size());
  }
  std::int64_t last_rank = -1;
  for (const auto& rank : profile.ranks) {
    ASSERT_GT(rank.rank, last_rank);
    last_rank = rank.rank;
    ASSERT_GT(rank.ticks_per_second, 0);
    for (const auto& c : rank.communicators) ASSERT_GE(c.made, 1);
    for (const auto& window : rank.windows) {
      ASSERT_GE(window.made, 1);
      ASSERT_NE(analysis::name_of(window.kind), nullptr);
      for (const auto& traffic : window.targets) ASSERT_GE(traffic.target, 0);
    }
    for (const auto& location : rank.locations) {
      ASSERT_EQ(location.losses.size(), format::loss_count);
      if (location.run) check_run(profile, rank, *location.run);
      if (::testing::Test::HasFatalFailure()) return;
      for (const auto& loop : location.loops) {
        const auto clusters = static_cast<std::int32_t>(loop.clusters.size());
        run::IterationSamples samples(profile, rank, loop);
        for (std::int64_t i = 0; i < 20; ++i)
          if (const auto* recorded = samples.of(i)) {
            std::int64_t last_path = -1;
            for (const auto& row : *recorded) {
              ASSERT_GT(row.path, last_path);
              last_path = row.path;
              ASSERT_LT(row.path, profile.paths.size());
            }
          }
        for (const auto& slopes : loop.slopes)
          for (const auto& of : slopes.paths) ASSERT_LT(of.path, profile.paths.size());
        for (const auto& scales_with : loop.scales_with)
          ASSERT_LT(std::max(scales_with.first, scales_with.second), static_cast<std::int32_t>(loop.metrics.size()));
        run::for_each_iteration(loop, [&](std::int64_t, std::int32_t cluster, auto row) {
          ASSERT_LT(cluster, clusters);
          ASSERT_EQ(row.size(), loop.metrics.size());
        });
      }
      for (const auto& unit : location.units) {
        ASSERT_LT(unit.loop, static_cast<std::int64_t>(location.loops.size()));
        if (unit.loop >= 0) {
          ASSERT_LT(unit.cluster, static_cast<std::int64_t>(location.loops[unit.loop].clusters.size()));
        }
        check_extra(profile, unit.extra);
        ASSERT_LE(unit.extra.totals.size(), rank.extra_metrics.size());
        check_rows(profile, unit.values, unit.columns.size(), format::columns_of);
      }
    }
  }
}

/// What was said, without the numbers in it: shows how deep the damage got.
std::string kind_of(const std::string& message) {
  std::string out;
  for (const char c : message.substr(message.find(": ", message.find("at byte")) + 2))
    if (c < '0' || c > '9') out += c;
  return out;
}

void run(const std::string& base, std::uint64_t seed, int rounds, bool sealed, std::size_t least_kinds) {
  limit_memory();
  Random random(seed);
  std::map<std::string, int> refused;
  int accepted = 0;
  for (int i = 0; i < rounds; ++i) {
    std::string bytes = mutate(base, random);
    if (sealed) reseal(bytes);
    try {
      Profile profile = experiment::parse_profile(experiment::InputFile("f", std::as_bytes(std::span(bytes))));
      check_invariants(profile);
      ++accepted;
    } catch (const experiment::ReadError& error) {
      ++refused[kind_of(error.what())];
    }
    if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", round " << i;
  }
  EXPECT_GE(refused.size(), least_kinds) << "the damage no longer reaches the decoders";
  if (sealed) {
    EXPECT_GT(accepted, rounds / 100) << "nor do good files";
  }
}

TEST(Mutations, of_files_as_they_are) { run(sample_file(3), 1, 20'000, false, 20); }
TEST(Mutations, behind_the_checksums) { run(sample_file(2), 2, 20'000, true, 25); }
TEST(Mutations, behind_the_compression) { run(unpacked(sample_file(2)), 3, 60'000, true, 40); }

TEST(Mutations, the_base_is_the_same_profile_unpacked) {
  const std::string packed = sample_file(2), raw = unpacked(packed);
  const Profile a = experiment::parse_profile(experiment::InputFile("f", std::as_bytes(std::span(packed))));
  const Profile b = experiment::parse_profile(experiment::InputFile("f", std::as_bytes(std::span(raw))));
  EXPECT_GT(raw.size(), packed.size());
  for (std::size_t rank = 0; rank < 2; ++rank)
    EXPECT_EQ(values_of(a, a.ranks[rank].locations[1].units[0]), values_of(b, b.ranks[rank].locations[1].units[0]));
}

TEST(Mutations, of_manifests) {
  ScratchDirectory directory;
  put_manifest(directory.path, 3);
  const std::string base = read_file(directory.path + "/manifest.json");
  Random random(4);
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = mutate(base, random);
    try {
      experiment::parse_manifest(experiment::InputFile("f", std::as_bytes(std::span(bytes))));
      ++accepted;
    } catch (const experiment::ReadError&) {
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 20'000);
}

}  // namespace
}  // namespace refrain::testing

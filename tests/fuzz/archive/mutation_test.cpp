// 100,000 damaged files, the same ones every time: each is read or refused with a ReadError, nothing else. And one view
// of each is printed, with what is left of the file.

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <sys/resource.h>

#include "archive/writer.hpp"
#include "offline/analysis/iteration_samples.hpp"
#include "offline/analysis/iterations.hpp"
#include "offline/analysis/windows.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/experiment/manifest_reader.hpp"
#include "offline/findings/facts.hpp"
#include "offline/report/difference.hpp"
#include "offline/report/report.hpp"
#include "tests/fuzz/archive/file_surgery.hpp"
#include "tests/unit/archive/sample_job.hpp"
#include "tests/unit/archive/thread_peers.hpp"

namespace refrain::testing {
namespace {

using experiment::Profile;
using Random = std::mt19937_64;

std::string sample_file(int ranks) {
  ScratchDirectory directory;
  EXPECT_TRUE(write_job(directory.path, ranks, [ranks](int rank) {
    SampleRank sample = rank == 0 ? sample_rank(rank, ranks, 2, 12) : sample_rank_with_loops(rank, ranks, 2, 12);
    if (rank == 0) sample.add_extra_metrics();
    sample.add_communicator({1, 0, 3, 0, rank, ranks, 0, "", {}, 70}, {0, 1});
    sample.add_window({1, format::WindowKind::Shared, "fuzzed", 9}, {{0, 0, 1, 20, 300, 4000}, {0, 1, 1, 2, 3, 4}});
    sample.add_window({0, format::WindowKind::Dynamic, ""}, {});
    return sample;
  }));
  return read_file(directory.path + "/profile.refrain");
}

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
        analysis::IterationSamples samples(profile, rank, loop);
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
        for (const auto& follows : loop.follows)
          ASSERT_LT(std::max(follows.first, follows.second), static_cast<std::int32_t>(loop.metrics.size()));
        analysis::for_each_iteration(loop, [&](std::int64_t, std::int32_t cluster, auto row) {
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

std::string mutate(std::string bytes, Random& random) {
  const auto somewhere = [&] { return bytes.empty() ? 0 : random() % bytes.size(); };
  for (std::uint64_t n = 1 + random() % 3; n > 0; --n) {
    if (bytes.empty()) break;
    switch (random() % 8) {
      case 0: bytes[somewhere()] ^= static_cast<char>(1 << random() % 8); break;
      case 1: bytes[somewhere()] = static_cast<char>(random()); break;
      case 2: bytes[somewhere()] = "\x00\x01\x7f\x80\xff"[random() % 5]; break;
      case 3: bytes.resize(somewhere()); break;
      case 4: bytes.erase(somewhere(), 1 + random() % 16); break;
      case 5: bytes.insert(somewhere(), std::string(1 + random() % 16, static_cast<char>(random()))); break;
      case 6: {  // a field of a size or a count
        const std::uint64_t value = std::uint64_t{1} << random() % 64;
        const std::size_t at = somewhere() / 4 * 4;
        for (std::size_t i = 0; i < 8 && at + i < bytes.size(); ++i) bytes[at + i] = static_cast<char>(value >> 8 * i);
        break;
      }
      default: {  // a piece of the file somewhere else
        const std::string piece = bytes.substr(somewhere(), 1 + random() % 64);
        const std::size_t at = somewhere();
        bytes.replace(at, piece.size(), piece);
      }
    }
  }
  return bytes;
}

/// Prints one view in one format. Damage is named; what is asked for may be gone with it.
void print_something(const std::string& bytes, Random& random) {
  static analysis::Symbolizer symbolizer;  // modules that are not there are looked for once
  report::Options options;
  const auto formats = report::format_names();
  options.set_format(formats[random() % formats.size()]);
  switch (random() % 18) {
    case 0: options.flat = true; break;
    case 1: options.iterations = true; break;
    case 2: options.clusters = true; break;
    case 3: options.windows = true; break;
    case 4: options.locations = true; break;
    case 5: options.iteration = static_cast<std::int64_t>(random() % 150), options.loop = "timestep"; break;
    case 6: options.cluster = static_cast<std::int32_t>(random() % 5), options.loop = "timestep"; break;
    case 7: options.iterations = true, options.callpath = "MPI_Send", options.metric = "wall"; break;
    case 8: options.callsites = true; break;
    case 9: options.mpi = true; break;
    case 10: options.modules = true; break;
    case 11: options.sizes = true; break;
    case 12: options.communicators = true; break;
    case 13: options.nodes = true; break;
    case 14: options.callers = "MPI_Send"; break;
    case 15: options.source = "solver.c"; break;
    case 16: options.flat = true, options.sort = "function", options.limit = 3; break;
    default: break;
  }
  if (random() % 4 == 0) options.ranks = {1};
  std::size_t printed = 0;
  try {
    const auto experiment = experiment::Experiment::of_file("f", std::as_bytes(std::span(bytes)));
    render(experiment, options, {80, false, false}, symbolizer, [&](std::string_view text) { printed += text.size(); });
    ASSERT_GT(printed, 0u);
    analysis::MinimumWaits minima(experiment->definitions());
    const analysis::CallTree tree = analysis::build_call_tree(*experiment, symbolizer, {});
    findings::Facts facts{*experiment, tree, minima, {}};
    find(facts);
    if (random() % 4 == 0)
      report::render_difference({experiment, {}}, {experiment, {}}, {}, {80, false, false}, symbolizer,
                                [](std::string_view) {});
  } catch (const experiment::ReadError&) {
  } catch (const report::UsageError&) {
  }
}

void run(const std::string& base, std::uint64_t seed, int rounds, bool sealed, std::size_t least_kinds) {
  const rlimit memory{std::uint64_t{4} << 30, RLIM_INFINITY};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  setrlimit(RLIMIT_AS, &memory);  // a reader that believes a corrupt size fails with bad_alloc here
#else
  (void)memory;
#endif
  Random random(seed), views(seed);
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
    if (i % 4 == 0) print_something(bytes, views);
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

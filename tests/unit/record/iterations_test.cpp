// Loops, clusters and iterations: written, spilled, and read again.

#include "offline/run/iterations.hpp"

#include <cerrno>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "format/kept_iterations.hpp"
#include "measurement/iterations.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/run/iteration_samples.hpp"
#include "record/compressor.hpp"
#include "record/frames.hpp"
#include "record/spill_file.hpp"
#include "record/writer.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/thread_peers.hpp"
#include "tests/unit/record/whole_experiment.hpp"

namespace refrain::testing {
namespace {

using format::FrameKind;

experiment::WholeExperiment write_and_read(record::RankRecord& record, const ScratchDirectory& directory) {
  put_manifest(directory.path, 1);
  EXPECT_TRUE(record::write_profile(record, {}, directory.c_str(), 0).written);
  return experiment::read_experiment(directory.path);
}

/// Checks that every iteration is there, in order, with its vector as far as it is kept, and the cluster of its label.
void expect_sample_iterations(const experiment::Loop& loop, int from, int count, int clusters) {
  int at = from;
  const auto read = run::for_each_iteration(loop, [&](std::int64_t iteration, std::int32_t cluster, auto row) {
    ASSERT_EQ(iteration, at);
    ASSERT_EQ(cluster, std::min<int>(static_cast<int>(sample_label(at)), clusters - 1));
    for (std::size_t m = 0; m < measurement::logged_count; ++m) {
      const auto precision = format::row_of(format::logged_metrics[m]).log;
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
  const experiment::WholeExperiment experiment = write_and_read(sample.record(), directory);
  const experiment::Rank& rank = experiment.profile.ranks[0];
  ASSERT_EQ(rank.locations[0].loops.size(), 1u);
  ASSERT_EQ(rank.locations[1].loops.size(), 2u);
  EXPECT_EQ(rank.locations[1].loops[1].name, "inner");
  const experiment::Loop& loop = rank.locations[0].loops[0];
  EXPECT_EQ(loop.name, "timestep");
  EXPECT_EQ(loop.iterations, 150);
  ASSERT_EQ(loop.clusters.size(), 4u);
  const experiment::Cluster& cluster = loop.clusters[2];
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
  EXPECT_EQ(loop.metrics.size(), measurement::logged_count);
  ASSERT_EQ(rank.locations[0].units.size(), 5u);
  EXPECT_EQ(rank.locations[0].units[3].cluster, 2);
  expect_sample_iterations(loop, 0, 150, 4);
  expect_sample_iterations(rank.locations[1].loops[1], 0, 3, 1);
}

TEST(Iterations, are_found_one_by_one) {
  SampleRank sample = sample_rank_with_loops(0, 1, 1, 30);
  const ScratchDirectory directory;
  const experiment::WholeExperiment experiment = write_and_read(sample.record(), directory);
  const experiment::Loop& loop = experiment.profile.ranks[0].locations[0].loops[0];
  for (int i = -1; i < 152; ++i) {
    int found = 0;
    const bool there = run::with_iteration(loop, i, [&](std::int64_t iteration, std::int32_t cluster, auto row) {
      ++found;
      EXPECT_EQ(iteration, i);
      EXPECT_EQ(cluster, std::min<int>(static_cast<int>(sample_label(i)), 3));
      EXPECT_EQ(row[0], sample_overall(i, 0));
    });
    EXPECT_EQ(there, i >= 0 && i < 150) << i;
    EXPECT_EQ(found, there ? 1 : 0);
  }
}

/// Whether the block lies inside a piece, or begins or ends one.
TEST(Iterations, without_a_thread_are_filled_in) {
  SampleRank sample = sample_rank_with_loops(0, 1, 1, 30);
  const ScratchDirectory directory;
  const experiment::WholeExperiment experiment = write_and_read(sample.record(), directory);
  experiment::Loop loop = experiment.profile.ranks[0].locations[0].loops[0];
  ASSERT_EQ(loop.log.size(), 2u);
  std::vector<clustering::Precision> columns;
  for (const auto& metric : loop.metrics) columns.push_back(metric.precision);
  clustering::IterationLog log;
  ASSERT_TRUE(log.create(columns));
  loop.iterations = 1000;
  const auto add = [&](std::uint64_t first, std::uint64_t absent, bool own_piece) {
    ASSERT_EQ(log.append_run(first, absent, format::Run::Absent), clustering::IterationLog::Appended::Yes);
    const auto block = log.closed();
    if (own_piece) loop.log.push_back({nullptr, 0, 0, std::make_shared<std::vector<std::byte>>()});
    auto contents = std::make_shared<std::vector<std::byte>>(*loop.log.back().contents);
    contents->insert(contents->end(), block.begin(), block.end());
    loop.log.back().contents = contents;
    log.start_block();
  };
  add(150, 50, true);
  const std::vector<std::int64_t> row(columns.size(), 7);
  for (std::uint64_t i = 200; i < 210; ++i)
    ASSERT_EQ(log.append(i, clustering::Label{0}, row), clustering::IterationLog::Appended::Yes);
  auto contents = std::make_shared<std::vector<std::byte>>(*loop.log.back().contents);
  contents->insert(contents->end(), log.closed().begin(), log.closed().end());
  loop.log.back().contents = contents;
  log.start_block();
  add(210, 90, false);
  add(300, 700, true);
  std::int64_t next = 0;
  const auto is_absent = [](std::int64_t i) { return i >= 150 && (i < 200 || i >= 210); };
  const auto check = [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> values) {
    ASSERT_EQ(is_absent(i), cluster < 0) << i;
    if (is_absent(i)) EXPECT_TRUE(std::ranges::all_of(values, [](std::int64_t v) { return v == 0; }));
    EXPECT_EQ(values.size(), columns.size());
  };
  EXPECT_EQ(1000, run::for_each_iteration(loop, [&](std::int64_t i, std::int32_t cluster, auto values) {
              EXPECT_EQ(next++, i);
              check(i, cluster, values);
            }));
  for (const int i : {0, 149, 150, 199, 200, 209, 210, 299, 300, 999})
    EXPECT_TRUE(run::with_iteration(loop, i, [&](std::int64_t number, std::int32_t cluster, auto values) {
      EXPECT_EQ(i, number);
      check(i, cluster, values);
    })) << i;
  EXPECT_FALSE(run::with_iteration(loop, 1000, [](auto, auto, auto) {}));
  // Records of a damaged file beyond the loop's end are left out.
  loop.iterations = 400;
  EXPECT_EQ(400, run::for_each_iteration(loop, [](auto, auto, auto) {}));
}

std::size_t index_in_row(format::MetricId metric) { return format::logged_index(metric); }

/// A loop in memory, with the metrics that this version logs.
class LoopInMemory {
 public:
  explicit LoopInMemory(std::int64_t iterations, std::uint64_t whole = clustering::IterationLog::all) {
    std::vector<clustering::Precision> columns;
    for (const format::MetricId metric : format::logged_metrics) {
      const auto& row = format::row_of(metric);
      loop.metrics.push_back({row.total_name, row.unit, row.log});
      columns.push_back(row.log);
    }
    loop.iterations = iterations;
    EXPECT_TRUE(log.create(columns, 32768, whole));
  }
  static std::vector<std::int64_t> row(std::int64_t wall) {
    std::vector<std::int64_t> row(format::logged_count);
    row[index_in_row(format::MetricId::Wall)] = wall;
    return row;
  }
  void add(std::uint32_t label, std::int64_t wall) {
    const auto append = [&] { return log.append(log.next(), clustering::Label{label}, row(wall)); };
    if (append() == clustering::IterationLog::Appended::Yes) return;
    close();
    ASSERT_EQ(append(), clustering::IterationLog::Appended::Yes);
  }
  void pass(std::uint64_t count, format::Run what) {
    ASSERT_EQ(log.append_run(log.next(), count, what), clustering::IterationLog::Appended::Yes);
  }
  void close() {
    const auto block = log.closed();
    loop.log.push_back({nullptr, 0, 0, std::make_shared<std::vector<std::byte>>(block.begin(), block.end())});
    log.start_block();
  }
  experiment::Loop loop;
  clustering::IterationLog log;
};

TEST(Iterations, that_a_thread_has_passed_have_the_wall_time_of_the_first_thread) {
  LoopInMemory first(100), other(100);
  for (std::int64_t i = 0; i < 100; ++i) first.add(0, 1000 + i);
  first.close();
  other.loop.clusters = {{.label = 0}, {.label = static_cast<std::uint32_t>(format::passed_label)}};
  other.pass(10, format::Run::Absent);
  other.pass(20, format::Run::Passed);
  other.add(0, 5);
  other.close();
  other.pass(69, format::Run::PassedInCall);
  other.close();
  other.loop.first_log = std::make_shared<const std::vector<experiment::FramePlace>>(first.loop.log);
  other.loop.first_iterations = 100;
  std::int64_t walls[2] = {};
  for (std::int64_t i = 10; i < 100; ++i)
    if (i != 30) walls[i > 30] += 1000 + i;
  other.loop.passed = {{{20, walls[0], 2 * walls[0], walls[0]}, {69, walls[1], 0, 3 * walls[1]}}};

  using format::MetricId;
  const auto check = [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
    const bool absent = i<10, in_call = i> 30;
    const std::int64_t wall = absent ? 0 : i == 30 ? 5 : 1000 + i;
    EXPECT_EQ(cluster, absent ? -1 : i == 30 ? 0 : 1) << i;
    EXPECT_EQ(row[index_in_row(MetricId::Wall)], wall) << i;
    EXPECT_EQ(row[index_in_row(MetricId::Time)], in_call ? wall : 0) << i;
    if (absent || i == 30) return;
    const auto expect = [&](MetricId metric, std::int64_t value) {
      EXPECT_NEAR(static_cast<double>(row[index_in_row(metric)]), static_cast<double>(value), 1) << i;
    };
    expect(MetricId::Cpu, in_call ? 0 : 2 * wall);
    expect(MetricId::WaitedForCore, in_call ? 0 : wall);
    expect(MetricId::OffCpuMpi, in_call ? 3 * wall : 0);
  };
  std::int64_t next = 0;
  EXPECT_EQ(100, run::for_each_iteration(other.loop, [&](std::int64_t i, std::int32_t cluster, auto row) {
              EXPECT_EQ(next++, i);
              check(i, cluster, row);
            }));
  for (const std::int64_t i : {0, 9, 10, 29, 30, 31, 99}) EXPECT_TRUE(run::with_iteration(other.loop, i, check)) << i;
  EXPECT_FALSE(run::with_iteration(other.loop, 100, check));
}

TEST(Iterations, that_were_passed_in_a_group_of_the_first_thread_have_its_mean_although_the_thread_ended_in_it) {
  constexpr std::uint64_t whole = 64;
  const std::uint64_t kept = format::KeptIterations{4}.in_block(32);  // of 512 to 527
  LoopInMemory first(528, whole), other(520);
  for (std::int64_t i = 0; i < 528; ++i) first.add(0, i < 512 ? 10 : 1000 + i);
  first.close();
  other.loop.clusters = {{.label = static_cast<std::uint32_t>(format::passed_label)}};
  other.pass(520, format::Run::Passed);
  other.close();
  other.loop.first_log = std::make_shared<const std::vector<experiment::FramePlace>>(first.loop.log);
  other.loop.first_iterations = 528;
  std::int64_t sum = 0;
  for (std::int64_t i = 512; i < 528; ++i) sum += i == static_cast<std::int64_t>(kept) ? 0 : 1000 + i;
  const std::size_t wall = index_in_row(format::MetricId::Wall);
  EXPECT_EQ(520, run::for_each_iteration(other.loop, [&](std::int64_t i, std::int32_t, auto row) {
              if (i < 512 || i == static_cast<std::int64_t>(kept)) return;
              EXPECT_NEAR(static_cast<double>(row[wall]), static_cast<double>(sum) / 15, 1) << i;
            }));
}

TEST(Iterations, that_are_not_kept_have_the_mean_of_their_group) {
  constexpr std::int64_t whole = 32, iterations = 1000;
  LoopInMemory of(iterations, whole);
  of.loop.clusters = {{.label = 0}, {.label = 1}};
  std::vector<std::int64_t> walls;
  for (std::int64_t i = 0; i < iterations; ++i) {
    walls.push_back(1000 + (i * 7919) % 1013);
    of.add(static_cast<std::uint32_t>(i % 2), walls.back());
  }
  of.close();
  const auto wall = index_in_row(format::MetricId::Wall);
  std::vector<std::int64_t> read;
  EXPECT_EQ(iterations, run::for_each_iteration(of.loop, [&](std::int64_t i, std::int32_t cluster, auto row) {
              EXPECT_EQ(static_cast<std::int64_t>(read.size()), i);
              read.push_back(row[wall]);
              const unsigned level = format::log_level_at(static_cast<std::uint64_t>(i), whole);
              if (!format::KeptIterations{level}.has(static_cast<std::uint64_t>(i))) return;
              EXPECT_EQ(cluster, i % 2) << i;
              EXPECT_EQ(row[wall], walls[static_cast<std::size_t>(i)]) << i;
            }));
  ASSERT_EQ(read.size(), walls.size());
  for (std::size_t i = 0; i < walls.size();) {
    const std::size_t end = std::min(i + (std::size_t{1} << format::log_level_at(i, whole)), walls.size());
    std::int64_t here = 0, there = 0;
    for (; i < end; ++i) {
      here += walls[i];
      there += read[i];
    }
    ASSERT_EQ(here, there) << "before " << i;
  }
  for (const std::int64_t i : {31, 32, 33, 500, 999})
    EXPECT_TRUE(run::with_iteration(of.loop, i, [&](std::int64_t, std::int32_t, auto row) {
      EXPECT_EQ(row[wall], read[static_cast<std::size_t>(i)]);
    })) << i;
}

TEST(Iterations, that_are_not_kept_are_not_in_a_cluster_of_one_other_iteration) {
  constexpr std::uint64_t whole = 128;
  const format::KeptIterations kept{1};
  const std::uint64_t slow = kept.in_block(80);  // of 160 and 161
  std::uint64_t last = 170;
  while (kept.has(last)) last += 2;  // the loop ends with the first of a group whose second one would be kept
  ASSERT_LT(last, 2 * whole);
  LoopInMemory of(static_cast<std::int64_t>(last) + 1, whole);
  of.loop.clusters = {{.label = 0, .members = static_cast<std::int64_t>(last) - 1},
                      {.label = 1, .members = 1},
                      {.label = 2, .members = 1}};
  const auto wall = [&](std::uint64_t i) { return i == slow || i == last ? 5000 : 10; };
  for (std::uint64_t i = 0; i <= last; ++i) of.add(i == slow ? 1U : i == last ? 2U : 0U, wall(i));
  of.close();
  const auto expected = [&](std::uint64_t i) { return i == slow ? 1 : i == (slow ^ 1) || i == last ? -1 : 0; };
  const auto check = [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
    const auto number = static_cast<std::uint64_t>(i);
    EXPECT_EQ(cluster, expected(number)) << i;
    EXPECT_EQ(row[index_in_row(format::MetricId::Wall)], wall(number)) << i;
  };
  EXPECT_EQ(static_cast<std::int64_t>(last) + 1, run::for_each_iteration(of.loop, check));
  for (std::uint64_t i = 0; i <= last; ++i)
    EXPECT_TRUE(run::with_iteration(of.loop, static_cast<std::int64_t>(i), check));
}

TEST(Iterations, of_a_loop_of_billions_take_no_table_of_all_labels) {
  LoopInMemory of(3'000'000'000);  // most of which are missing
  of.loop.clusters = {{.label = 0, .members = 10}, {.label = static_cast<std::uint32_t>(format::passed_label)}};
  for (int i = 0; i < 10; ++i) of.add(0, 7);
  of.close();
  const auto resident_kib = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const long before = resident_kib();
  const auto check = [](std::int64_t, std::int32_t cluster, auto) { EXPECT_EQ(0, cluster); };
  EXPECT_EQ(10, run::for_each_iteration(of.loop, check));
  EXPECT_LT(resident_kib() - before, 1 << 20) << "two bytes for each of 2^32 labels";
}

TEST(Iterations, of_a_run_are_found_at_once) {
  constexpr std::int64_t iterations = std::int64_t{1} << 40;  // one by one it would take hours
  LoopInMemory of(iterations);
  of.pass(static_cast<std::uint64_t>(iterations) - 1, format::Run::Absent);
  of.add(0, 7);
  of.close();
  of.loop.clusters = {{.label = 0, .members = 1}};
  for (const std::int64_t i : {std::int64_t{0}, iterations / 2, iterations - 2, iterations - 1})
    EXPECT_TRUE(run::with_iteration(of.loop, i, [&](std::int64_t number, std::int32_t cluster, auto row) {
      EXPECT_EQ(i, number);
      EXPECT_EQ(i == iterations - 1 ? 0 : -1, cluster);
      EXPECT_EQ(i == iterations - 1 ? 7 : 0, row[index_in_row(format::MetricId::Wall)]);
    })) << i;
}

TEST(Iterations, that_would_be_kept_but_had_no_thread_are_absent) {
  constexpr std::uint64_t whole = 128;
  const format::KeptIterations kept{1};
  const std::uint64_t absent = kept.in_block(80);  // of 160 and 161
  LoopInMemory of(2 * whole, whole);
  of.loop.clusters = {{.label = 0, .members = 2 * whole - 1}};
  for (std::uint64_t i = 0; i < 2 * whole; ++i) {
    if (i == absent) of.pass(1, format::Run::Absent);
    else of.add(0, 10);
  }
  of.close();
  run::for_each_iteration(of.loop, [&](std::int64_t i, std::int32_t cluster, auto row) {
    const bool is_absent = static_cast<std::uint64_t>(i) == absent;
    EXPECT_EQ(is_absent ? -1 : 0, cluster) << i;
    EXPECT_EQ(is_absent ? 0 : 10, row[index_in_row(format::MetricId::Wall)]) << i;
  });
}

TEST(Iterations, are_found_without_reading_the_rest) {
  SampleRank sample = sample_rank_with_loops(0, 1, 1, 30);
  const ScratchDirectory directory;
  const experiment::WholeExperiment experiment = write_and_read(sample.record(), directory);
  const experiment::Loop& loop = experiment.profile.ranks[0].locations[0].loops[0];
  ASSERT_EQ(loop.log.size(), 2u);
  std::string bytes = read_file(directory.path + "/profile.refrain");
  bytes[loop.log[0].offset + loop.log[0].size - 20] ^= 1;
  write_file(directory.path + "/profile.refrain", bytes);
  const auto nothing = [](auto, auto, auto) {};
  EXPECT_TRUE(run::with_iteration(loop, 149, nothing)) << "which is in the second piece";
  EXPECT_THROW(run::with_iteration(loop, 0, nothing), experiment::ReadError);
  EXPECT_THROW(run::for_each_iteration(loop, nothing), experiment::ReadError);
}

/// Identifies a call path, which ranks number differently.
std::string name_of(const experiment::Profile& profile, std::uint32_t path) {
  std::string name;
  const Path steps = paths_of(profile)[path];
  for (const Step& step : steps) name += step.name + "+" + std::to_string(step.offset) + "/";
  return name;
}

/// The same for nodes of a kind that have values, in the order of the sample tree's map, which numbers the nodes.
std::vector<std::string> sample_paths(int rank, int thread, NodeKind kind) {
  std::vector<std::string> names;
  for (const auto& [path, columns] : sample_tree(rank, thread, 40)) {
    if (columns.empty() || path.back().kind != kind) continue;
    std::string name;
    for (const Step& step : path) name += step.name + "+" + std::to_string(step.offset) + "/";
    names.push_back(name);
  }
  return names;
}

/// A location numbers paths by nodes, and the rank and the job number them differently again.
void expect_sample_samples_and_slopes(const experiment::Profile& profile, int ranks, unsigned level) {
  ASSERT_EQ(profile.ranks.size(), static_cast<std::size_t>(ranks));
  for (const experiment::Rank& rank : profile.ranks)
    for (int thread = 0; thread < 2; ++thread) {
      const experiment::Loop& loop = rank.locations[static_cast<std::size_t>(thread)].loops[0];
      run::IterationSamples samples(profile, rank, loop);
      EXPECT_EQ(samples.stride(), 1U << level);
      const auto functions = sample_paths(rank.rank, thread, NodeKind::Function);
      const auto calls = sample_paths(rank.rank, thread, NodeKind::Region);
      for (int i = 0; i < 150; ++i) {
        std::map<std::string, std::int64_t> truth, got;
        for (std::size_t p = 0; p < functions.size(); ++p)
          if (const auto n = sample_samples(i, static_cast<int>(p))) truth[functions[p]] = n;
        const auto* recorded = samples.of(i);
        ASSERT_EQ(recorded != nullptr, (format::KeptIterations{level}.has(static_cast<std::uint64_t>(i)))) << i;
        if (!recorded) continue;
        for (const auto& row : *recorded) got[name_of(profile, row.path)] = row.samples;
        ASSERT_EQ(got, truth) << "rank " << rank.rank << ", thread " << thread << ", iteration " << i;
      }
      EXPECT_EQ(samples.of(150), nullptr);
      EXPECT_NE(samples.of(static_cast<std::int64_t>(format::KeptIterations{level}.in_block(0))), nullptr)
          << "backwards";
      ASSERT_EQ(loop.slopes.size(), 2u);
      EXPECT_EQ(loop.scales_with[4].first, 6);
      EXPECT_EQ(loop.scales_with[4].second, 5);
      EXPECT_EQ(loop.scales_with[1].second, -1);
      for (const experiment::ClassSlopes& slopes : loop.slopes) {
        ASSERT_EQ(slopes.paths.size(), calls.size());
        for (const experiment::PathSlopes& of : slopes.paths) {
          const auto at = std::find(calls.begin(), calls.end(), name_of(profile, of.path));
          ASSERT_NE(at, calls.end());
          const int p = static_cast<int>(at - calls.begin());
          for (std::size_t c = 0; c < 7; ++c) {
            const float first = sample_slope(slopes.class_index, p, c, false);
            const float second = c == 4 || c == 6 ? sample_slope(slopes.class_index, p, c, true) : 0;
            EXPECT_NEAR(of.first[c], first, 3e-4F * std::abs(first));
            EXPECT_NEAR(of.second[c], second, 3e-4F * std::abs(second));
          }
        }
      }
    }
}

TEST(Iterations, have_their_samples_and_slopes_by_call_path_on_every_rank) {
  const ScratchDirectory directory;
  put_manifest(directory.path, 3);
  EXPECT_TRUE(write_job(directory.path, 3, [](int rank) { return sample_rank_with_loops(rank, 3, 2, 40); }));
  expect_sample_samples_and_slopes(experiment::read_experiment(directory.path).profile, 3, 0);
}

TEST(Iterations, have_them_too_when_ranks_wrote_for_themselves) {
  const ScratchDirectory directory;
  put_manifest(directory.path, 3);
  for (int rank = 0; rank < 3; ++rank) {
    SampleRank sample = sample_rank_with_loops(rank, 3, 2, 40);
    EXPECT_TRUE(record::write_part(sample.record(), directory.c_str()).written);
  }
  expect_sample_samples_and_slopes(experiment::read_experiment(directory.path).profile, 3, 0);
}

TEST(Iterations, have_fewer_samples_when_there_was_little_room) {
  SampleRank sample = sample_rank(0, 1, 2, 40);
  for (std::size_t thread = 0; thread < 2; ++thread) {
    sample.add_loop(thread, "timestep", 4, 150);
    sample.add_samples_and_slopes(thread, 1024);
  }
  const ScratchDirectory directory;
  const experiment::WholeExperiment experiment = write_and_read(sample.record(), directory);
  expect_sample_samples_and_slopes(experiment.profile, 1, 1);
}

TEST(Iterations, are_not_taken_from_a_file_that_has_been_replaced) {
  SampleRank sample = sample_rank_with_loops(0, 1, 1, 30);
  const ScratchDirectory directory;
  const experiment::WholeExperiment experiment = write_and_read(sample.record(), directory);
  const std::string path = directory.path + "/profile.refrain";
  write_file(path + ".new", read_file(path));
  std::filesystem::rename(path + ".new", path);
  try {
    run::for_each_iteration(experiment.profile.ranks[0].locations[0].loops[0], [](auto, auto, auto) {});
    FAIL() << "was read";
  } catch (const experiment::ReadError& error) {
    EXPECT_NE(std::string(error.what()).find("was replaced while it was read"), std::string::npos);
  }
}

class Spilled : public ::testing::Test {
 protected:
  /// Earlier iterations in the file of rank 0: blocks and merges of loop 0 of thread 0, in two pieces.
  void SetUp() override {
    SampleRank early = sample_rank_with_loops(0, 1, 1, 30);
    const record::LoopRecord& loop = early.record().locations[0].loops[0];
    for (const auto piece : {loop.log, loop.log_tail}) {
      platform::Bytes frames;
      ASSERT_TRUE(record::append_frame(FrameKind::Log, 0, 0, piece, compressor, frames));
      ASSERT_EQ(file.append(directory.c_str(), 0, frames.view()), 0);
    }
    // Frames of unknown kinds and loops are skipped.
    platform::Bytes frames;
    ASSERT_TRUE(record::append_frame(FrameKind{77}, 0, 0, loop.log, compressor, frames));
    ASSERT_TRUE(record::append_frame(FrameKind::Log, 9, 0, loop.log, compressor, frames));
    ASSERT_EQ(file.append(directory.c_str(), 0, frames.view()), 0);
  }
  /// A rank whose log is empty except for what was spilled.
  SampleRank later() {
    SampleRank sample(0, 1, sample_modules(0));
    sample.add_thread(sample_tree(0, 0, 30));
    sample.add_loop(0, "timestep", 4, 0);
    return sample;
  }
  ScratchDirectory directory;
  record::Compressor compressor;
  record::SpillFile file{format::spill_name_begin};
};

TEST_F(Spilled, iterations_stay_in_their_file) {
  SampleRank sample = later();
  sample.record().spilled_bytes = file.bytes();
  const experiment::WholeExperiment experiment = write_and_read(sample.record(), directory);
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
  const experiment::WholeExperiment experiment = write_and_read(sample.record(), directory);
  expect_sample_iterations(experiment.profile.ranks[0].locations[0].loops[0], 0, 150, 4);
}

TEST_F(Spilled, what_a_snapshot_did_not_know_yet_is_left_alone) {
  SampleRank sample = later();
  sample.record().spilled_bytes = file.bytes();
  write_file(directory.path + "/iterations-0.refrain",
             read_file(directory.path + "/iterations-0.refrain") + "half a fra");
  const experiment::WholeExperiment experiment = write_and_read(sample.record(), directory);
  expect_sample_iterations(experiment.profile.ranks[0].locations[0].loops[0], 0, 150, 4);
}

TEST_F(Spilled, damage_is_named_with_its_place) {
  const auto error_of = [&] {
    try {
      for (const auto& rank : experiment::read_experiment(directory.path).profile.ranks)
        run::for_each_iteration(rank.locations[0].loops[0], [](auto, auto, auto) {});
    } catch (const experiment::ReadError& error) {
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
  ASSERT_TRUE(record::append_frame(FrameKind::Log, 0, 0, some, compressor, frames));
  errno = 1234;
  EXPECT_EQ(file.append("/nowhere/at/all", 0, frames.view()), ENOENT);
  EXPECT_EQ(errno, 1234);
  EXPECT_EQ(file.bytes(), before);
}

}  // namespace
}  // namespace refrain::testing

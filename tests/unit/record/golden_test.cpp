// What earlier versions wrote stays readable: tests/golden/profile-<format version>, events-<version of frames of
// events>. A new format version adds a directory there (REFRAIN_WRITE_GOLDEN=<new directory> writes one); none is ever
// changed.

#include <array>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "events/message_numbers.hpp"
#include "events/metric_values.hpp"
#include "measurement/regions.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/run/iteration_profile.hpp"
#include "offline/run/iteration_samples.hpp"
#include "offline/run/iterations.hpp"
#include "offline/trace/trace.hpp"
#include "record/frames.hpp"
#include "record/manifest.hpp"
#include "record/writer.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/thread_peers.hpp"
#include "tests/unit/record/whole_experiment.hpp"

namespace refrain::testing {
namespace {

constexpr int golden_ranks = 3;

constexpr int golden_iterations = 5;

events::Record event(events::Kind kind, std::int64_t begin, std::int64_t end) {
  events::Record r;
  r.kind = kind;
  r.begin = begin;
  r.time = end;
  return r;
}

/// What the reader knows about a frame.
struct KnownInFrame {
  events::MessageNumbers numbers;
  events::MetricValues metrics;
};

/// One iteration of "timestep": a message to the next rank, another one from the rank before by a request, a read of a
/// file, a sample.
void append_iteration(events::Buffer& buffer, KnownInFrame& known, int rank, int i, std::int64_t begin) {
  const auto request = static_cast<std::uint64_t>(i + 1) << events::bits_of_thread;
  const auto moved = [&](events::Kind kind, events::Phase phase, std::int32_t peer, std::int64_t sent,
                         std::int64_t received) {
    events::Record r = event(kind, 0, 0);
    r.phase = phase;
    r.peer = peer;
    r.tag = 5;
    r.communicator = kind == events::Kind::Read ? -1 : 0;
    r.request = phase == events::Phase::Whole ? 0 : request;
    r.begun_node = phase == events::Phase::Completed ? 2 : 0;
    r.bytes_sent = sent;
    r.bytes_received = received;
    EXPECT_TRUE(buffer.append(r));
  };
  const auto call = [&](std::uint32_t node, std::int64_t from, std::int64_t to, std::int64_t off_cpu_ns = 0) {
    events::Record r = event(events::Kind::Call, begin + from, begin + to);
    r.value = off_cpu_ns;
    r.is_whole = true;
    r.region = static_cast<std::uint16_t>(node % 4);
    r.node = node;
    EXPECT_TRUE(buffer.append(r));
  };
  moved(events::Kind::Receive, events::Phase::Begun, (rank + 2) % golden_ranks, 0, 0);
  call(2, 100, 150);
  moved(events::Kind::Send, events::Phase::Whole, (rank + 1) % golden_ranks, 1000 + i, 0);
  call(3, 200, 260);
  moved(events::Kind::Receive, events::Phase::Completed, (rank + 2) % golden_ranks, 0, 1000 + i);
  call(4, 300, 400, 30);
  moved(events::Kind::Read, events::Phase::Whole, events::no_peer, 0, 77);
  call(5, 410, 450);
  events::Record all = event(events::Kind::Collective, 0, 0);
  all.phase = events::Phase::Whole;
  all.peer = events::no_peer;
  all.bytes_sent = all.bytes_received = 8;
  known.numbers.put(all, {static_cast<std::uint64_t>(i), 0});
  EXPECT_TRUE(buffer.append(all));
  call(4, 460, 480);
  events::Record fence = event(events::Kind::Synchronization, 0, 0);
  fence.peer = events::no_peer;
  fence.tag = events::any_tag;
  fence.ordinal = static_cast<std::uint64_t>(i);
  EXPECT_TRUE(buffer.append(fence));
  events::Record lock = fence;
  lock.peer = (rank + 1) % golden_ranks;
  lock.tag = events::exclusive_lock;
  lock.ordinal = events::no_ordinal;
  EXPECT_TRUE(buffer.append(lock));
  call(5, 482, 486);
  events::Record metric = event(events::Kind::Metric, begin + 490, begin + 490);
  known.metrics.put(metric, 1000 * i + rank);
  EXPECT_TRUE(buffer.append(metric));
  events::Record sample = event(events::Kind::Sample, begin + 500, begin + 500);
  sample.node = 6;
  sample.value = 123;
  EXPECT_TRUE(buffer.append(sample));
  events::Record span = event(events::Kind::Span, begin, begin + 900);
  span.region = measurement::first_user_region;
  span.value = i;
  EXPECT_TRUE(buffer.append(span));
}

/// Frames of the rank's events: two of its first thread, one of its second. `records` are those of each thread.
platform::Bytes golden_events(int rank, std::array<std::uint64_t, 2>& records) {
  platform::Bytes frames;
  record::Compressor compressor;
  std::vector<std::byte> memory(1 << 16);
  for (int thread = 0; thread < 2; ++thread) {
    events::Buffer buffer;
    buffer.create(memory, thread);
    KnownInFrame known;
    for (int i = 0; i < golden_iterations; ++i) {
      append_iteration(buffer, known, rank, i, 1'001'000 + 1000 * i + 10 * rank + thread);
      if (i % 3 == 2 && thread == 0) {
        records[0] += buffer.until(buffer.end()).count;
        EXPECT_TRUE(record::append_event_frame(buffer.until(buffer.end()), compressor, frames));
        (void)buffer.remove(buffer.end());
        known = {};
      }
    }
    records[static_cast<std::size_t>(thread)] += buffer.until(buffer.end()).count;
    EXPECT_TRUE(record::append_event_frame(buffer.until(buffer.end()), compressor, frames));
  }
  return frames;
}

/// A rank with events. The first one has them in a file, the others in the profile.
class RankWithEvents {
 public:
  RankWithEvents(SampleRank sample, int rank, const std::string& directory) : sample_(std::move(sample)), rank_(rank) {
    frames_ = golden_events(rank, records_);
    const std::string text(reinterpret_cast<const char*>(frames_.data()), frames_.size());
    if (rank == 0) write_file(directory + "/events-0.refrain", text);
  }

  record::RankRecord& record() {
    static const char* const regions[] = {"timestep"};
    static const record::EventLevel levels[] = {{measurement::first_user_region, 1}};
    static const record::SlowIteration slowest[] = {{measurement::first_user_region, 2, 3}};
    static const record::ClockOffset offsets[] = {{0, 1'100'000, -250, 2000}, {0, 1'300'000'000, -260, 1000}};
    record::RankRecord& record = sample_.record();
    locations_.assign(record.locations.begin(), record.locations.end());
    for (std::size_t thread = 0; thread < locations_.size(); ++thread)
      locations_[thread].events = {records_[thread], golden_iterations, thread};
    durations_.clear();
    for (const record::LocationRecord& location : locations_) durations_.push_back(sample_durations(location));
    for (std::size_t thread = 0; thread < locations_.size(); ++thread)
      locations_[thread].durations = durations_[thread];
    record.locations = locations_;
    record.event_mode = format::EventMode::Sampled;
    record.user_regions = regions;
    record.event_levels = levels;
    record.slowest = slowest;
    record.events_agreed = true;
    record.clock = rank_ == 2 ? 22 : 11;
    if (rank_ == 2) record.clock_offsets = offsets;
    record.event_bytes = frames_.size();
    if (rank_ > 0) record.event_frames = {frames_.data(), frames_.size()};
    return record;
  }

 private:
  SampleRank sample_;
  int rank_;
  platform::Bytes frames_;
  std::array<std::uint64_t, 2> records_{};
  std::vector<record::LocationRecord> locations_;
  std::vector<std::vector<waits::DurationTable::Entry>> durations_;
};

TEST(Golden, writes_a_new_one_on_demand) {
  const char* directory = std::getenv("REFRAIN_WRITE_GOLDEN");
  if (!directory) GTEST_SKIP() << "REFRAIN_WRITE_GOLDEN is not set";
  put_manifest(directory, golden_ranks);
  EXPECT_TRUE(write_job(directory, golden_ranks, [directory](int rank) {
    SampleRank sample = sample_rank(rank, golden_ranks, 2, 40);
    for (std::size_t thread = 0; thread < 2; ++thread) {
      sample.add_loop(thread, "timestep", 4, 150);
      sample.add_samples_and_slopes(thread, thread == 0 ? 512 : 1 << 16);
    }
    sample.add_loop(1, "inner", 1, 3);
    for (std::size_t thread = 0; thread < 2; ++thread) sample.add_thinned_loop(thread, "steps", thread == 1);
    sample.add_communicator({1, 0, 5, 0, rank, golden_ranks, 0, "", {}, 70 + rank}, {0, 1, 2});
    sample.add_window({1, measurement::WindowKind::Allocated, "halo", 9}, {{0, (rank + 1) % 3, 1, 20, 300, 4000}});
    sample.add_window({0, measurement::WindowKind::Dynamic, ""}, {});
    return RankWithEvents(std::move(sample), rank, directory);
  }));
}

TEST(Golden, version_1_0) {
  const experiment::WholeExperiment experiment = experiment::read_experiment(GOLDEN "/profile-1.0");
  const experiment::Profile& profile = experiment.profile;
  EXPECT_EQ(experiment.manifest.state, "incomplete");
  EXPECT_EQ(profile.version, "0.1.0");
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 3u);
  // The numbers were noted when the file was written, and are not computed anew.
  EXPECT_EQ(profile.paths.size(), 545u);
  const experiment::Unit& unit = profile.ranks[2].locations[1].units[0];
  EXPECT_EQ(profile.ranks[2].locations[1].own_times[0].timed, 0);  // unknown in that version
  EXPECT_EQ(unit.wall, 1'000'002);
  EXPECT_EQ(unit.own, 22);
  std::int64_t mixed = 0;
  for (const std::int64_t value : unit.columns) mixed ^= value;
  EXPECT_EQ(mixed, 437'691'951'620'338'572);
  EXPECT_EQ(profile.ranks[1].locations[0].losses[static_cast<std::size_t>(format::Loss::TruncatedDepth)], 3);
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
  // The numbers were noted when the file was written, and are not computed anew.
  std::int64_t iterations = 0, walls = 0, clusters = 0;
  run::for_each_iteration(loop, [&](std::int64_t, std::int32_t cluster, auto row) {
    ++iterations;
    walls += row[0];
    clusters += cluster;
  });
  EXPECT_EQ(iterations, 150);
  EXPECT_EQ(walls, 150'300);
  EXPECT_EQ(clusters, 368);
}

/// The call paths of an iteration are the same whether asked for one by one, in all iterations, or as the profile of
/// the iteration; and all of them have its exact totals.
TEST(Golden, version_1_1_of_call_paths_in_an_iteration) {
  const experiment::Profile profile = experiment::read_experiment(GOLDEN "/profile-1.1").profile;
  using format::MetricId;
  std::map<MetricId, std::int64_t> sums;
  for (const experiment::Rank& rank : profile.ranks)
    for (const experiment::Location& location : rank.locations) {
      const run::IterationProfiles profiles(profile, rank, location, 0);
      run::with_iteration(profiles.loop(), 3, [&](std::int64_t i, std::int32_t cluster, auto row) {
        const experiment::Unit unit = profiles.unit_of(i, cluster, row);
        for (const auto metric : {MetricId::Time, MetricId::BytesSent, MetricId::MessagesSent}) {
          std::int64_t of_unit = 0;
          double selected = 0;
          for (std::uint32_t region = 0; region < profile.regions.size(); ++region) {
            run::PathSelection selection{std::vector<bool>(profile.paths.size()), {}, {}, {}, {}, {}};
            for (std::size_t path = 0; path < profile.paths.size(); ++path)
              selection.paths[path] =
                  profile.paths[path].kind == format::NodeKind::Region && profile.paths[path].offset == region;
            selected += run::IterationProfiles::Selected(profiles, selection).mpi(metric, cluster, row);
          }
          for (const auto& values : unit.values)
            of_unit += run::value_of(unit, values, profile.paths[values.path].kind, metric);
          EXPECT_EQ(static_cast<double>(of_unit), selected) << static_cast<int>(metric);
          sums[metric] += of_unit;
        }
      });
    }
  EXPECT_EQ(sums[MetricId::Time], 6'018) << "3.009 us";
  EXPECT_EQ(sums[MetricId::BytesSent], 42'018);
  EXPECT_EQ(sums[MetricId::MessagesSent], 36'018);
}

TEST(Golden, version_1_2) {
  const experiment::Profile profile = experiment::read_experiment(GOLDEN "/profile-1.2").profile;
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 3u);
  const experiment::Rank& rank = profile.ranks[2];
  ASSERT_EQ(rank.locations[1].loops.size(), 2u);
  const experiment::Loop& loop = rank.locations[1].loops[0];
  // The numbers were noted when the file was written, and are not computed anew.
  std::int64_t walls = 0, samples = 0, paths = 0;
  run::IterationSamples recorded(profile, rank, loop);
  run::for_each_iteration(loop, [&](std::int64_t i, std::int32_t, auto row) {
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
    for (std::size_t c = 0; c < 7; ++c) slopes += static_cast<double>(of.first[c]) + static_cast<double>(of.second[c]);
  EXPECT_NEAR(slopes, 46.006, 1e-3);
  EXPECT_EQ(loop.scales_with[format::column_of(format::MetricId::BytesReceived)].second, 7);
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
  // The numbers were noted when the file was written, and are not computed anew.
  const experiment::Loop& loop = rank.locations[0].loops[0];
  run::IterationSamples recorded(profile, rank, loop);
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
  EXPECT_FALSE(profile.ranks[2].locations[1].run);  // unknown in that version
}

TEST(Golden, version_1_6) {
  const experiment::Profile profile = experiment::read_experiment(GOLDEN "/profile-1.6").profile;
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 3u);
  EXPECT_EQ(profile.ranks[2].locations[1].loops.size(), 2u);
  EXPECT_EQ(profile.ranks[2].locations[1].units.size(), 6u);
  ASSERT_TRUE(profile.ranks[2].locations[1].run);
  // The numbers were noted when the file was written, and are not computed anew.
  const experiment::RunTotals& run = *profile.ranks[2].locations[1].run;
  EXPECT_EQ(run.totals.wall, 6'000'018);
  EXPECT_EQ(run.totals.weight_user_squared, 9'000'000'000'012);
  EXPECT_EQ(run.times.wall, 6'000'018);
  EXPECT_EQ(run.times.mpi, 1'800'012);
  EXPECT_EQ(run.times.refrain, 13'278);
  EXPECT_EQ(run.times.user, 4'186'728);
  EXPECT_EQ(run.times.cpu, 7'200'024);
  ASSERT_EQ(run.paths.size(), 40u);
  ASSERT_EQ(run.columns.size(), 206u) << "14 MPI functions have a column more now";
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

TEST(Golden, version_1_8) {
  const experiment::Profile profile = experiment::read_experiment(GOLDEN "/profile-1.8").profile;
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 3u);
  // The numbers were noted when the file was written, and are not computed anew.
  waits::Durations all;
  std::int64_t paths = 0, bins = 0;
  for (const experiment::CallDurations& of : profile.ranks[2].locations[1].durations) {
    all.add(of.durations);
    paths += of.path;
    bins += of.bin.code();
  }
  EXPECT_EQ(paths, 13'976);
  EXPECT_EQ(bins, 1'988);
  EXPECT_EQ(all.values, (std::array<std::int64_t, waits::column_count>{84, 1'173'030, 900, 22'515, 6, 5445}));
}

TEST(Golden, version_1_9) {
  const experiment::Profile profile = experiment::read_experiment(GOLDEN "/profile-1.9").profile;
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 3u);
  using Runs = std::vector<experiment::Cores::Run>;
  const experiment::Cores& cores = profile.ranks[1].cores;
  EXPECT_EQ(cores.at_begin, (Runs{{1, 1}}));
  EXPECT_EQ(cores.at_end, (Runs{{0, 4}, {8, 4}, {65, 1}}));
  EXPECT_EQ(cores.quota_in_thousandths, 1500);
  EXPECT_EQ(profile.ranks[2].cores.quota_in_thousandths, 0);
  EXPECT_FALSE(experiment::read_experiment(GOLDEN "/profile-1.8").profile.ranks[1].cores.known());
}

TEST(Golden, version_1_10) {
  const experiment::Profile profile = experiment::read_experiment(GOLDEN "/profile-1.10").profile;
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 3u);
  EXPECT_EQ(profile.ranks[2].cores.throttled_ns, 24'691'357'802);
  EXPECT_EQ(profile.ranks[1].cores.taken_ns, 98'765);
  EXPECT_TRUE(profile.ranks[0].off_cpu_is_counted);
  EXPECT_FALSE(experiment::read_experiment(GOLDEN "/profile-1.9").profile.ranks[0].off_cpu_is_counted);
}

TEST(Golden, version_1_11) {
  const experiment::Profile profile = experiment::read_experiment(GOLDEN "/profile-1.11").profile;
  EXPECT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 3u);
  EXPECT_TRUE(profile.ranks[0].off_cpu_of_calls_is_counted);
  EXPECT_FALSE(experiment::read_experiment(GOLDEN "/profile-1.10").profile.ranks[0].off_cpu_of_calls_is_counted);
  const std::vector<experiment::Location>& locations = profile.ranks[2].locations;
  ASSERT_EQ(locations[0].loops.size(), 2u);
  ASSERT_EQ(locations[1].loops.size(), 3u);
  EXPECT_EQ(locations[1].units[0].off_mpi_ns, 7'002);
  // What add_thinned_loop() has written, added up by hand.
  const experiment::Loop &first = locations[0].loops[1], &loop = locations[1].loops[2];
  EXPECT_EQ(loop.name, "steps");
  EXPECT_EQ(loop.thinning.from, 32);
  EXPECT_EQ(loop.thinning.level, 2u);
  EXPECT_EQ(loop.passed[0].count, 10);
  EXPECT_EQ(loop.passed[0].wall, 10'095);
  EXPECT_EQ(loop.passed[0].cpu_ns, 20'190);
  EXPECT_EQ(loop.passed[1].count, 7);
  EXPECT_EQ(loop.passed[1].off_ns, 3 * 7'196);
  ASSERT_EQ(first.slowest.size(), 16u);
  EXPECT_EQ(first.slowest[0].number, 99);
  EXPECT_EQ(first.slowest[15].wall, 1'084);
  ASSERT_EQ(loop.slowest.size(), 16u);
  EXPECT_EQ(loop.slowest[0].number, 31);
  EXPECT_EQ(loop.slowest[0].wall, 1'031);
  const auto wall = static_cast<std::size_t>(run::overall_index(loop, "wall"));
  const auto mpi = static_cast<std::size_t>(run::overall_index(loop, "mpi"));
  std::int64_t walls = 0, in_mpi = 0, walls_of_first = 0;
  std::map<std::int32_t, int> clusters;
  EXPECT_EQ(100, run::for_each_iteration(loop, [&](std::int64_t, std::int32_t cluster, auto row) {
              ++clusters[cluster];
              walls += row[wall];
              in_mpi += row[mpi];
            }));
  EXPECT_EQ(clusters, (std::map<std::int32_t, int>{{-1, 5}, {0, 78}, {1, 17}}));
  EXPECT_EQ(walls, 10'095 + 5'195 + 7'196 + 38'454) << "passed, records, in one call, groups";
  EXPECT_EQ(in_mpi, 7'196);
  EXPECT_EQ(100, run::for_each_iteration(first, [&](auto, auto, auto row) { walls_of_first += row[wall]; }));
  EXPECT_EQ(walls_of_first, 104'950);
}

TEST(Golden, events_2) {
  const auto experiment = experiment::Experiment::open(GOLDEN "/events-2", true);
  const auto trace = trace::Trace::open(experiment);
  ASSERT_TRUE(trace);
  EXPECT_EQ((std::map<std::string, unsigned>{{"timestep", 1}}), trace->levels());
  EXPECT_EQ(1u, trace->slowest().size());
  EXPECT_EQ(2u, trace->clocks().machines());
  ASSERT_EQ(6u, trace->locations().size());
  EXPECT_EQ(1u, trace->locations()[1].lost);
  // The numbers were noted when the file was written, and are not computed anew.
  std::map<std::string, int> kinds;
  std::int64_t times = 0, bytes = 0, iterations = 0;
  std::uint64_t requests = 0, paths = 0;
  auto reader = trace->read();
  while (const trace::Event* event = reader.next()) {
    ++kinds[std::string(name_of(event->type))];
    times += event->time_ns;
    paths += event->path;
    if (event->type == trace::Type::Communication) {
      bytes += event->record.bytes_sent + event->record.bytes_received;
      requests ^= event->record.request;
    }
    if (event->type == trace::Type::SpanEnd) iterations += event->record.value;
  }
  EXPECT_EQ((std::map<std::string, int>{
                {"communication", 120}, {"enter", 120}, {"leave", 120}, {"sample", 30}, {"span_end", 30}}),
            kinds);
  EXPECT_EQ(777'200, times);
  EXPECT_EQ(62'430, bytes);
  EXPECT_EQ(60, iterations);
  EXPECT_EQ(0u, requests);  // a completion has the number of its begin
  EXPECT_EQ(128'849'052'390u, paths);
  EXPECT_EQ(experiment->damages(), 0u);
}

TEST(Golden, events_3) {
  const auto experiment = experiment::Experiment::open(GOLDEN "/events-3", true);
  const auto trace = trace::Trace::open(experiment);
  ASSERT_TRUE(trace);
  // The numbers were noted when the file was written, and are not computed anew.
  std::map<std::string, int> kinds;
  std::int64_t times = 0, values = 0;
  std::map<std::uint32_t, std::vector<std::uint64_t>> ordinals;  // by location
  auto reader = trace->read();
  while (const trace::Event* event = reader.next()) {
    ++kinds[std::string(name_of(event->type))];
    times += event->time_ns;
    if (event->type == trace::Type::Communication && event->record.kind == events::Kind::Collective)
      ordinals[event->location].push_back(event->record.ordinal);
    if (event->type == trace::Type::Metric) values += event->record.value;
  }
  EXPECT_EQ(
      (std::map<std::string, int>{
          {"communication", 150}, {"enter", 150}, {"leave", 150}, {"metric", 30}, {"sample", 30}, {"span_end", 30}}),
      kinds);
  EXPECT_EQ(1'006'950, times);
  EXPECT_EQ(6u, ordinals.size());
  for (const auto& [location, numbers] : ordinals) EXPECT_EQ((std::vector<std::uint64_t>{0, 1, 2, 3, 4}), numbers);
  EXPECT_EQ(60'030, values);
  EXPECT_EQ(experiment->damages(), 0u);
}

TEST(Golden, events_4) {
  const auto experiment = experiment::Experiment::open(GOLDEN "/events-4", true);
  const auto trace = trace::Trace::open(experiment);
  ASSERT_TRUE(trace);
  std::map<std::uint32_t, std::vector<std::uint64_t>> fences;  // by location
  int locks = 0;
  std::uint32_t peers = 0;
  auto reader = trace->read();
  while (const trace::Event* event = reader.next()) {
    const events::Record& r = event->record;
    if (event->type != trace::Type::Communication || r.kind != events::Kind::Synchronization) continue;
    EXPECT_EQ(0, r.communicator);
    if (r.ordinal != events::no_ordinal) {
      fences[event->location].push_back(r.ordinal);
      EXPECT_EQ(events::no_peer, r.peer);
      EXPECT_EQ(events::any_tag, r.tag);
      continue;
    }
    ++locks;
    peers += static_cast<std::uint32_t>(r.peer);
    EXPECT_EQ(events::exclusive_lock, r.tag);
  }
  EXPECT_EQ(6u, fences.size());
  for (const auto& [location, numbers] : fences) EXPECT_EQ((std::vector<std::uint64_t>{0, 1, 2, 3, 4}), numbers);
  EXPECT_EQ(30, locks);
  EXPECT_EQ(2u * 5 * (0 + 1 + 2), peers);
  EXPECT_EQ(experiment->damages(), 0u);
}

TEST(Golden, events_5) {
  using Found = std::pair<int, std::int64_t>;  // number of calls that were off the CPU, and how long
  const auto calls_off_cpu = [](const char* directory) {
    Found found{};
    const auto experiment = experiment::Experiment::open(directory, true);
    const auto trace = trace::Trace::open(experiment);
    EXPECT_TRUE(trace);
    if (!trace) return found;
    auto reader = trace->read();
    while (const trace::Event* event = reader.next()) {
      if (event->type != trace::Type::Leave || event->record.value == 0) continue;
      ++found.first;
      found.second += event->record.value;
    }
    EXPECT_EQ(experiment->damages(), 0u);
    return found;
  };
  EXPECT_EQ(calls_off_cpu(GOLDEN "/profile-1.11"), Found(30, 900));
  EXPECT_EQ(calls_off_cpu(GOLDEN "/events-4"), Found(0, 0));
}

}  // namespace
}  // namespace refrain::testing

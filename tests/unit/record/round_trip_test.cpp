// A rank that is written and read again is the same.

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "offline/experiment/experiment.hpp"
#include "record/block_builder.hpp"
#include "record/writer.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/whole_experiment.hpp"

namespace refrain::testing {
namespace {

using experiment::Profile;

Profile write_and_read(SampleRank& sample) {
  ScratchDirectory directory;
  put_manifest(directory.path, 1);
  const auto outcome = record::write_profile(sample.record(), {}, directory.c_str(), 0);
  EXPECT_TRUE(outcome.written && outcome.complete) << outcome.line;
  EXPECT_STREQ(outcome.line, "");
  return experiment::read_experiment(directory.path).profile;
}

int open_descriptors() {
  DIR* d = opendir("/proc/self/fd");
  int n = 0;
  while (readdir(d)) ++n;
  closedir(d);
  return n;
}

TEST(RoundTrip, keeps_durations_of_calls_by_path_and_class) {
  SampleRank sample = sample_rank(0, 1, 2, 60);
  std::vector<record::LocationRecord> locations(sample.record().locations.begin(), sample.record().locations.end());
  std::vector<std::vector<waits::DurationTable::Entry>> entries;
  for (record::LocationRecord& location : locations) entries.push_back(sample_durations(location));
  for (std::size_t l = 0; l < locations.size(); ++l) locations[l].durations = entries[l];
  record::RankRecord record = sample.record();
  record.locations = locations;
  ScratchDirectory directory;
  put_manifest(directory.path, 1);
  ASSERT_TRUE(record::write_profile(record, {}, directory.c_str(), 0).written);
  const Profile profile = experiment::read_experiment(directory.path).profile;
  for (std::size_t l = 0; l < locations.size(); ++l) {
    const auto& found = profile.ranks[0].locations[l].durations;
    ASSERT_FALSE(found.empty());
    waits::Durations expected, all;
    std::set<std::pair<std::uint32_t, std::uint16_t>> kinds;
    for (const auto& entry : entries[l]) expected.add(entry.durations);
    for (const experiment::CallDurations& of : found) {
      EXPECT_EQ(NodeKind::Region, profile.paths[of.path].kind);
      EXPECT_EQ(7u, of.bin.size());
      kinds.emplace(of.path, of.bin.code());
      all.add(of.durations);
    }
    EXPECT_EQ(expected.values, all.values);
    EXPECT_EQ(found.size(), kinds.size()) << "one row for a path and bin";
    EXPECT_TRUE(std::ranges::is_sorted(found, {}, [](const auto& of) { return std::pair(of.path, of.bin.code()); }));
  }
}

TEST(RoundTrip, keeps_every_number_of_nested_trees_on_several_threads) {
  SampleRank sample = sample_rank(0, 1, 3, 300);
  const Profile profile = write_and_read(sample);
  ASSERT_TRUE(profile.complete);
  ASSERT_EQ(profile.ranks.size(), 1u);
  const experiment::Rank& rank = profile.ranks[0];
  const record::RankRecord& record = sample.record();
  EXPECT_EQ(profile.ranks_expected, 1);
  EXPECT_EQ(rank.process_id, 1000);
  EXPECT_EQ(rank.host, "node0");
  EXPECT_DOUBLE_EQ(rank.ticks_per_second, 2e9);
  EXPECT_EQ(rank.begin_epoch_ns, record.begin_epoch_ns);
  EXPECT_EQ(rank.call_cost.median, 40.5);
  EXPECT_EQ(rank.tick_cost.low, 1400.25);
  EXPECT_EQ(rank.tick_cost.high, 1999);
  ASSERT_EQ(rank.locations.size(), 3u);
  for (int thread = 0; thread < 3; ++thread) {
    const experiment::Location& location = rank.locations[static_cast<std::size_t>(thread)];
    EXPECT_EQ(location.thread, thread);
    EXPECT_EQ(location.os_thread_id, 5000 + thread);
    EXPECT_EQ(location.name, "thread-" + std::to_string(thread));
    EXPECT_EQ(location.arena_bytes, 4096);
    for (std::size_t loss = 0; loss < measurement::loss_count; ++loss)
      EXPECT_EQ(location.losses[loss], SampleRank::loss_of(loss, static_cast<std::size_t>(thread)));
    for (std::size_t of = 0; of < measurement::own_time_count; ++of) {
      EXPECT_EQ(location.own_times[of].timed, static_cast<std::int64_t>(of) * (thread + 1));
      EXPECT_EQ(location.own_times[of].mean, of == 0 ? 0 : 100.5 + static_cast<double>(of));
      EXPECT_EQ(location.own_times[of].error, of == 0 ? 0 : 0.25);
    }
    ASSERT_EQ(location.units.size(), 1u);
    const experiment::Unit& unit = location.units[0];
    const record::UnitRecord& truth = sample.unit(static_cast<std::size_t>(thread));
    EXPECT_EQ(location.end - location.begin, truth.wall);
    EXPECT_EQ(unit.loop, -1);
    EXPECT_EQ(unit.cluster, -1);
    EXPECT_EQ(unit.wall, truth.wall);
    EXPECT_EQ(unit.mpi, truth.mpi);
    EXPECT_EQ(unit.own, truth.own);
    EXPECT_EQ(unit.cpu_ns, truth.cpu_ns);
    EXPECT_EQ(unit.mpi_calls, truth.mpi_calls);
    EXPECT_EQ(unit.ticks_user, truth.ticks_user);
    EXPECT_EQ(unit.ticks_mpi, truth.ticks_mpi);
    EXPECT_EQ(unit.ticks_lost, truth.ticks_lost);
    EXPECT_EQ(unit.weight_user_ns, truth.weight_user_ns);
    EXPECT_EQ(unit.weight_mpi_ns, truth.weight_mpi_ns);
    EXPECT_EQ(unit.weight_user_squared, truth.weight_user_squared);
    EXPECT_EQ(values_of(profile, unit), with_values(sample_tree(0, thread, 300)));
  }
}

TEST(RoundTrip, keeps_communicators) {
  SampleRank sample(0, 1, {});
  measurement::CommunicatorRecord c{7, 2, 3, 5, 1, 6, 4, "row", {}, std::int64_t{1} << 40};
  sample.add_communicator(c, {5, 7, 9, 11, 3, 3, -1, 2'000'000'000});
  sample.add_communicator({8, -1, 0, -1, 0, 0, 0, "", {}}, {});
  const Profile profile = write_and_read(sample);
  ASSERT_EQ(profile.ranks[0].communicators.size(), 2u);
  const experiment::Communicator& read = profile.ranks[0].communicators[0];
  EXPECT_EQ(read.id, 7);
  EXPECT_EQ(read.parent, 2);
  EXPECT_EQ(read.ordinal, 3);
  EXPECT_EQ(read.leader, 5);
  EXPECT_EQ(read.rank, 1);
  EXPECT_EQ(read.size, 6);
  EXPECT_EQ(read.remote_size, 4);
  EXPECT_EQ(read.name, "row");
  const std::vector<std::int32_t> members{5, 7, 9, 11, 3, 3, -1, 2'000'000'000};
  ASSERT_EQ(read.members.size(), members.size());
  for (std::size_t i = 0; i < members.size(); ++i) EXPECT_EQ(read.members[i], members[i]) << i;
  EXPECT_EQ(read.made, std::int64_t{1} << 40);
  EXPECT_TRUE(profile.ranks[0].communicators[1].members.empty());
  EXPECT_EQ(profile.ranks[0].communicators[1].made, 1);
}

TEST(RoundTrip, keeps_many_communicators_of_a_large_job) {
  SampleRank sample(0, 1, {});
  std::vector<std::int32_t> world(65'536);
  std::iota(world.begin(), world.end(), 0);
  for (std::int32_t i = 0; i < 300; ++i) sample.add_communicator({i, i ? 0 : -1, i, 0, 0, 65'536, 0, "", {}}, world);
  sample.add_communicator({300, 0, 300, 0, 0, 65'536, 0, "", {}}, {world.rbegin(), world.rend()});
  const Profile profile = write_and_read(sample);
  ASSERT_EQ(profile.ranks[0].communicators.size(), 301u);
  EXPECT_EQ(profile.ranks[0].communicators[299].members.size(), 65'536u);
  EXPECT_EQ(profile.ranks[0].communicators[299].members[65'535], 65'535);
  EXPECT_EQ(profile.ranks[0].communicators[300].members[1], 65'534);
}

TEST(RoundTrip, keeps_windows) {
  using measurement::WindowKind;
  constexpr std::int64_t many = std::int64_t{1} << 60;
  SampleRank sample(0, 1, {});
  sample.add_window({3, WindowKind::Shared, "a name", 12}, {{0, 7, 1, 2, 3, 4}, {0, 2, many, many, 0, 0}});
  sample.add_window({-1, WindowKind::Dynamic, ""}, {});
  sample.add_window({0, WindowKind::Created, ""}, {{0, 2'000'000'000, 0, 0, 5, many}});
  const Profile profile = write_and_read(sample);
  const auto& windows = profile.ranks[0].windows;
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_EQ(windows[0].communicator, 3);
  EXPECT_EQ(windows[0].kind, WindowKind::Shared);
  EXPECT_EQ(windows[0].name, "a name");
  EXPECT_EQ(windows[0].made, 12);
  ASSERT_EQ(windows[0].targets.size(), 2u);
  EXPECT_EQ(windows[0].targets[0].target, 2);
  EXPECT_EQ(windows[0].targets[0].bytes_put, many);
  EXPECT_EQ(windows[0].targets[1].target, 7);
  EXPECT_EQ(windows[0].targets[1].bytes_got, 4);
  EXPECT_EQ(windows[1].communicator, -1);
  EXPECT_EQ(windows[1].kind, WindowKind::Dynamic);
  EXPECT_TRUE(windows[1].targets.empty());
  EXPECT_EQ(windows[2].targets[0].target, 2'000'000'000);
  EXPECT_EQ(windows[2].targets[0].bytes_got, many);
}

TEST(RoundTrip, without_windows_there_is_no_section) {
  SampleRank sample(0, 1, {});
  EXPECT_TRUE(write_and_read(sample).ranks[0].windows.empty());
}

/// Threads are made from nodes: 1 is a function, 3 a region below a frame, 4 the pseudo path of a full tree. Columns of
/// their own come first, then those of two metrics that the user has asked for.
std::vector<SampleNode> nodes_with_metrics() {
  return {{0, 0, 0, NodeKind::Root},
          {0, 0, 0x10040, NodeKind::Function},
          {0, 0, 0x10080, NodeKind::Frame},
          {2, 0, 0, NodeKind::Region},
          {0, 0, 1, NodeKind::Special}};
}

std::map<std::string, Columns> extra_of(const Profile& profile, const experiment::Unit& unit) {
  std::map<std::string, Columns> values;
  for (const auto& row : unit.extra.values) {
    Columns& columns = values[std::to_string(static_cast<int>(profile.paths[row.path].kind))];
    for (std::size_t m = 0; m < profile.ranks[0].extra_metrics.size(); ++m) columns.push_back(unit.extra.of(row, m));
  }
  return values;
}

TEST(RoundTrip, keeps_metrics_that_the_user_has_asked_for) {
  SampleRank sample(0, 1, {});
  sample.add_raw_thread(nodes_with_metrics(),
                        {{1, {1, 10, 7, -8}}, {3, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 70, 80}}, {4, {2, 20, 9, 0}}});
  const measurement::ExtraMetric metrics[] = {{"perf::PAGE-FAULTS", "1"}, {"ru_utime", "ns"}};
  sample.record().extra_metrics = metrics;
  sample.unit(0).extra[0] = 1'000;
  sample.unit(0).extra[1] = 2'000'000'000'000;
  const Profile profile = write_and_read(sample);
  ASSERT_EQ(profile.ranks[0].extra_metrics.size(), 2u);
  EXPECT_EQ(profile.ranks[0].extra_metrics[0].name, "perf::PAGE-FAULTS");
  EXPECT_EQ(profile.ranks[0].extra_metrics[1].unit, "ns");
  const experiment::Unit& unit = profile.ranks[0].locations[0].units[0];
  EXPECT_EQ(unit.extra.totals, (Columns{1'000, 2'000'000'000'000}));
  EXPECT_EQ(extra_of(profile, unit), (std::map<std::string, Columns>{{"2", {7, -8}}, {"3", {70, 80}}, {"4", {9, 0}}}));
  // The other columns have not moved.
  EXPECT_EQ(unit.columns.size(),
            2 * measurement::columns_of(NodeKind::Function) + measurement::columns_of(NodeKind::Region));
}

TEST(RoundTrip, samples_may_end_at_a_pseudo_path) {
  SampleRank sample(0, 1, {});
  sample.add_raw_thread(nodes_with_metrics(), {{1, {3, 30}}, {4, {2, 20}}});
  const Profile profile = write_and_read(sample);
  const experiment::Unit& unit = profile.ranks[0].locations[0].units[0];
  ASSERT_EQ(unit.values.size(), 2u);
  EXPECT_EQ(unit.columns, (Columns{3, 30, 2, 20}));
}

TEST(RoundTrip, an_address_belongs_to_the_module_of_its_generation) {
  // first.so and second.so are mapped at the same address, one after the other.
  SampleRank sample(0, 1, {{"/first.so", "", 0x10000, 0, 2}, {"/second.so", "", 0x10000, 2}});
  const Columns one(measurement::columns_of(NodeKind::Function), 1);
  sample.add_raw_thread({{0, 0, 0, NodeKind::Root},
                         {0, 1, 0x10040, NodeKind::Function},
                         {0, 2, 0x10040, NodeKind::Function},
                         {0, 7, 0x10040, NodeKind::Function}},
                        {{1, {1, 1}}, {2, {2, 2}}, {3, {4, 4}}});
  const Profile profile = write_and_read(sample);
  EXPECT_EQ(values_of(profile, profile.ranks[0].locations[0].units[0]),
            (Tree{{{function("/first.so", 0x40)}, {1, 1}}, {{function("/second.so", 0x40)}, {6, 6}}}));
}

TEST(RoundTrip, one_module_loaded_at_two_places_is_one_module) {
  SampleRank sample(0, 1, {{"/plugin.so", "id", 0x10000, 0, 1}, {"/plugin.so", "id", 0x900000, 1}});
  sample.add_raw_thread({{0, 0, 0, NodeKind::Root},
                         {0, 0, 0x10010, NodeKind::Frame},
                         {1, 0, 3, NodeKind::Region},
                         {0, 1, 0x900010, NodeKind::Frame},
                         {3, 1, 3, NodeKind::Region}},
                        {{2, {1, 20, 3, 4, 5, 6, 7, 8, 9, 10, 11}}, {4, {1, 22, 3, 4, 5, 6, 7, 8, 9, 10, 11}}});
  const Profile profile = write_and_read(sample);
  EXPECT_EQ(values_of(profile, profile.ranks[0].locations[0].units[0]),
            (Tree{{{frame("id", 0x10), region("(region 3)")}, {2, 42, 6, 8, 10, 12, 14, 16, 18, 20, 22}}}));
}

TEST(RoundTrip, return_addresses_belong_to_the_call_before_them) {
  SampleRank sample(0, 1, {{"/a.so", "", 0x100000}, {"/b.so", "", 0x100000 + module_bytes}});
  sample.add_raw_thread({{0, 0, 0, NodeKind::Root},
                         {0, 0, 0x100000 + module_bytes, NodeKind::Frame},      // behind a call at the end of a.so
                         {1, 0, 0x100000 + module_bytes, NodeKind::Function}},  // the first function of b.so
                        {{2, {1, 1}}});
  const Profile profile = write_and_read(sample);
  EXPECT_EQ(values_of(profile, profile.ranks[0].locations[0].units[0]),
            (Tree{{{frame("/a.so", module_bytes), function("/b.so", 0)}, {1, 1}}}));
}

TEST(RoundTrip, unknown_addresses_stay_absolute) {
  SampleRank sample(0, 1, {{"/a.so", "", 0x100000}});
  const Tree tree{{{frame("", 0xdead0000beef), truncated(), function("", ~0ull)}, {3, 4}},
                  {{frame("", 0x5), region("MPI_Barrier")}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}};
  sample.add_thread(tree);
  const Profile profile = write_and_read(sample);
  EXPECT_EQ(values_of(profile, profile.ranks[0].locations[0].units[0]), tree);
  EXPECT_TRUE(profile.modules.empty());
}

TEST(RoundTrip, extreme_values_survive) {
  SampleRank sample(0, 1, {});
  constexpr auto low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();
  const Tree tree{{{region("R")}, {low, high, -1, 0, 1, low + 1, 2, -2, high - 1, 3, 4}}};
  sample.add_thread(tree);
  sample.unit(0).wall = low;
  const Profile profile = write_and_read(sample);
  EXPECT_EQ(values_of(profile, profile.ranks[0].locations[0].units[0]), tree);
  EXPECT_EQ(profile.ranks[0].locations[0].units[0].wall, low);
}

TEST(RoundTrip, a_rank_without_threads_and_a_thread_without_nodes) {
  SampleRank none(0, 1, {});
  EXPECT_TRUE(write_and_read(none).ranks[0].locations.empty());
  SampleRank empty(0, 1, {});
  empty.add_raw_thread({}, {});
  const Profile profile = write_and_read(empty);
  EXPECT_EQ(profile.paths.size(), 1u);
  EXPECT_TRUE(profile.ranks[0].locations[0].units[0].values.empty());
}

TEST(RoundTrip, a_hundred_thousand_nodes) {
  SampleRank sample(0, 1, {{"/app", "id", 0x400000}});
  std::vector<SampleNode> nodes{{0, 0, 0, NodeKind::Root}};
  std::map<std::uint32_t, Columns> values;
  std::int64_t sum = 0;
  for (std::uint32_t i = 1; i <= 100'000; ++i) {
    const bool deep = i <= 20'000;  // one path of 20,000 frames; the others branch off from it
    nodes.push_back({deep ? i - 1 : i % 20'000, 0, 0x400000 + i, deep ? NodeKind::Frame : NodeKind::Function});
    if (!deep) values[i] = {1, i};
    if (!deep) sum += i;
  }
  sample.add_raw_thread(nodes, std::move(values));
  const Profile profile = write_and_read(sample);
  EXPECT_EQ(profile.paths.size(), 100'001u);
  const experiment::Unit& unit = profile.ranks[0].locations[0].units[0];
  ASSERT_EQ(unit.values.size(), 80'000u);
  for (const auto& row : unit.values) {
    EXPECT_EQ(unit.columns[row.first + 1], static_cast<std::int64_t>(profile.paths[row.path].offset));
    sum -= unit.columns[row.first + 1];
  }
  EXPECT_EQ(sum, 0);
}

TEST(RoundTrip, text_is_fit_for_a_terminal) {
  SampleRank sample(0, 1, {{"/a\x1b[31m\xff\xc2\x9b.so", "", 0x100000}});
  sample.add_raw_thread({{0, 0, 0, NodeKind::Root}, {0, 0, 0x100000, NodeKind::Function}}, {{1, {1, 1}}});
  const Profile profile = write_and_read(sample);
  EXPECT_EQ(profile.modules[0].path, "/a\uFFFD[31m\uFFFD\uFFFD.so");
}

TEST(RoundTrip, leaves_errno_and_descriptors_alone) {
  SampleRank sample = sample_rank(0, 1, 1, 20);
  ScratchDirectory directory;
  const int before = open_descriptors();
  errno = 1234;
  const auto good = record::write_profile(sample.record(), {}, directory.c_str(), 0);
  const auto bad = record::write_profile(sample.record(), {}, "/nowhere/at/all", 0);
  const int after_errno = errno;
  EXPECT_TRUE(good.written);
  EXPECT_FALSE(bad.written);
  EXPECT_EQ(after_errno, 1234);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(RoundTrip, a_block_has_room_for_every_section_of_a_rank) {
  record::BlockBuilder block;
  for (auto type = static_cast<std::uint32_t>(format::Section::Rank);
       type <= static_cast<std::uint32_t>(format::newest_of_rank); ++type)
    EXPECT_TRUE(block.add_raw(static_cast<format::Section>(type), {})) << type;
}

TEST(RoundTrip, never_overwrites_a_profile) {
  SampleRank sample = sample_rank(0, 1, 1, 20);
  ScratchDirectory directory;
  ASSERT_TRUE(record::write_profile(sample.record(), {}, directory.c_str(), 0).written);
  const std::string first = read_file(directory.path + "/profile.refrain");
  SampleRank other = sample_rank(0, 1, 1, 30);
  const auto outcome = record::write_profile(other.record(), {}, directory.c_str(), 0);
  EXPECT_FALSE(outcome.written);
  EXPECT_NE(std::string(outcome.line).find("File exists"), std::string::npos) << outcome.line;
  EXPECT_EQ(read_file(directory.path + "/profile.refrain"), first);
}

}  // namespace
}  // namespace refrain::testing

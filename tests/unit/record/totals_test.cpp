// The totals of a run in the file are those that the time rules give for its units.

#include <gtest/gtest.h>

#include "format/saturating.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/experiment/totals_reader.hpp"
#include "offline/run/extra_metrics.hpp"
#include "offline/run/time_rules.hpp"
#include "record/encoder.hpp"
#include "record/writer.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/thread_peers.hpp"
#include "tests/unit/record/whole_experiment.hpp"

namespace refrain::testing {
namespace {

using experiment::Location;
using experiment::Profile;
using experiment::Rank;
using experiment::RunTotals;
using experiment::Unit;

Profile write_and_read(const record::RankRecord& record) {
  ScratchDirectory directory;
  put_manifest(directory.path, 1);
  EXPECT_TRUE(record::write_profile(record, {}, directory.c_str(), 0).written);
  return experiment::read_experiment(directory.path).profile;
}

/// The sums of one call path: ticks, columns, shares of the extra metrics.
struct PathSums {
  std::int64_t ticks = 0;
  Columns columns, extra;
  bool operator==(const PathSums&) const = default;
};
struct Sums {
  format::UnitTotals totals;
  format::UnitTimes times;
  Columns extra, extra_no_path;
  std::map<std::uint32_t, PathSums> paths;
};

bool is_zero(const PathSums& of) {
  const auto zero = [](const Columns& columns) { return std::ranges::all_of(columns, [](auto v) { return v == 0; }); };
  return of.ticks == 0 && zero(of.columns) && zero(of.extra);
}

/// A unit with its call paths numbered as the rank did, which decides equal claims.
template <class Values>
void renumber(Values& values, const std::map<std::uint32_t, std::uint32_t>& own_number) {
  for (auto& row : values) row.path = own_number.at(row.path);
  std::ranges::sort(values, {}, [](const auto& row) { return row.path; });
}

/// The columns of the sample are arbitrary numbers.
void add(std::int64_t& sum, std::int64_t value) { sum = format::add_saturating(sum, value); }

/// Computes the totals from the units, as a report would.
Sums sums_of_units(const Profile& profile, const Rank& rank, const Location& location) {
  Sums sums;
  std::map<std::uint32_t, std::uint32_t> own_number;
  std::vector<experiment::CallPath> own_paths;
  for (const std::uint32_t path : rank.paths) {
    own_number[path] = static_cast<std::uint32_t>(own_paths.size());
    own_paths.push_back(profile.paths[path]);
  }
  const std::size_t metrics = rank.extra_metrics.size();
  sums.extra.resize(metrics);
  sums.extra_no_path.resize(metrics);
  const auto of_path = [&](std::uint32_t own) -> PathSums& {
    PathSums& of = sums.paths[rank.paths[own]];
    of.columns.resize(format::columns_of(own_paths[own].kind));
    of.extra.resize(metrics);
    return of;
  };
  for (Unit unit : location.units) {
    renumber(unit.values, own_number);
    renumber(unit.extra.values, own_number);
    sums.totals += unit;
    const run::UnitTimes times = run::apply_time_rules(unit, own_paths, run::constants_of(rank, location));
    sums.times += times;
    for (const auto* paths : {&times.mpi_paths, &times.user_paths})
      for (const auto& [path, ticks] : *paths) add(of_path(path).ticks, ticks);
    for (const auto& row : unit.values)
      for (std::size_t c = 0; c < format::columns_of(own_paths[row.path].kind); ++c)
        add(of_path(row.path).columns[c], unit.columns[row.first + c]);
    for (std::size_t m = 0; m < metrics; ++m) {
      const run::ExtraShares shares = run::share_extra(unit, own_paths, m);
      add(sums.extra[m], shares.total);
      add(sums.extra_no_path[m], shares.no_path);
      for (const auto* paths : {&shares.mpi_paths, &shares.user_paths})
        for (const auto& [path, value] : *paths) add(of_path(path).extra[m], value);
    }
  }
  std::erase_if(sums.paths, [](const auto& of) { return is_zero(of.second); });
  return sums;
}

Sums sums_of_run(const Profile& profile, const RunTotals& run) {
  const std::size_t metrics = run.extra.totals.size();
  Sums sums{run.totals, run.times, run.extra.totals, run.extra_no_path, {}};
  sums.extra.resize(metrics);
  sums.extra_no_path.resize(metrics);
  for (const auto& row : run.paths) {
    const auto first = run.columns.begin() + row.first;
    const auto width = static_cast<std::ptrdiff_t>(format::columns_of(profile.paths[row.path].kind));
    sums.paths[row.path] = {row.ticks, Columns(first, first + width), Columns(metrics)};
  }
  for (const auto& row : run.extra.values)
    for (std::size_t m = 0; m < metrics; ++m) sums.paths.at(row.path).extra[m] = run.extra.of(row, m);
  return sums;
}

void expect_equal(const Sums& run, const Sums& units) {
  for (const auto& column : format::total_columns)
    EXPECT_EQ(run.totals.*column.total, units.totals.*column.total) << format::row_of(column.metric).total_name;
  EXPECT_EQ(run.totals.weight_user_squared, units.totals.weight_user_squared);
  for (const auto& column : format::time_columns)
    EXPECT_EQ(run.times.*column.time, units.times.*column.time) << column.name;
  EXPECT_EQ(run.extra, units.extra);
  EXPECT_EQ(run.extra_no_path, units.extra_no_path);
  EXPECT_TRUE(run.paths == units.paths);
}

/// Checks every location of the profile; returns how many there are.
int expect_all_equal(const Profile& profile) {
  int locations = 0;
  for (const Rank& rank : profile.ranks)
    for (const Location& location : rank.locations) {
      SCOPED_TRACE("rank " + std::to_string(rank.rank) + ", thread " + std::to_string(location.thread));
      ++locations;
      EXPECT_TRUE(location.run);
      if (!location.run) continue;
      expect_equal(sums_of_run(profile, *location.run), sums_of_units(profile, rank, location));
      const auto by_path = [](const auto& a, const auto& b) { return a.path >= b.path; };
      EXPECT_EQ(std::ranges::adjacent_find(location.run->paths, by_path), location.run->paths.end());
      EXPECT_EQ(std::ranges::adjacent_find(location.run->extra.values, by_path), location.run->extra.values.end());
    }
  return locations;
}

TEST(Totals, are_what_the_time_rules_make_of_the_units_of_all_ranks) {
  ScratchDirectory directory;
  put_manifest(directory.path, 3);
  EXPECT_TRUE(write_job(directory.path, 3, [](int rank) { return sample_rank_with_loops(rank, 3, 2, 40); }));
  const Profile profile = experiment::read_experiment(directory.path).profile;
  EXPECT_EQ(expect_all_equal(profile), 6);
  EXPECT_EQ(profile.ranks[1].locations[1].units.size(), 6u);
  EXPECT_GT(profile.ranks[1].locations[1].run->paths.size(), 20u);
}

/// Threads like those of real programs: MPI paths with the unit's MPI time, samples of equal weight, of which three
/// cannot share a remaining tick evenly, a call without time, and ticks whose path was lost.
SampleRank plausible_rank() {
  SampleRank sample(0, 1, sample_modules(0));
  for (int thread = 0; thread < 2; ++thread) {
    Tree tree;
    for (std::uint64_t i = 0; i < 40; ++i)
      // The rank numbers paths in the order of this map, the job by kind, module and offset.
      tree[{frame("lib-id", 0x100 + i % 7), function("app-id", 0x9000 - 16 * i)}] = {1, i % 5 == 0 ? 2000 : 1000};
    tree[{frame("app-id", 0x40), region("MPI_Send")}] = {7, 120'000, 50'000, 7, 700, 0, 0, 0, 0, 0, 0};
    tree[{frame("app-id", 0x50), region("MPI_Isend")}] = {9, 0, 0, 9, 900, 0, 0, 0, 0, 0, 0};
    tree[{frame("app-id", 0x60), region("MPI_Recv")}] = {8, 170'000, 0, 0, 0, 8, 800, 0, 0, 0, 0};
    sample.add_thread(tree);
  }
  return sample;
}

/// The record with other units: `units_of(thread, unit)` gives those of each location, from its only unit.
struct OtherUnits {
  template <class UnitsOf>
  OtherUnits(SampleRank& sample, UnitsOf units_of) : record(sample.record()) {
    for (const record::LocationRecord& location : record.locations) {
      units.push_back(units_of(location.thread, location.units[0]));
      locations.push_back(location);
      locations.back().units = units.back();
    }
    record.locations = locations;
  }
  record::RankRecord record;
  std::deque<std::vector<record::UnitRecord>> units;
  std::vector<record::LocationRecord> locations;
};

/// Several units that are divided differently, one of them stopped.
std::vector<record::UnitRecord> several_units(std::int32_t thread, const record::UnitRecord& unit) {
  std::vector<record::UnitRecord> units(4, unit);
  units[0].cpu_ns = 470'001;
  units[0].weight_user_ns = 60'000;  // more than the sum of the call paths
  units[1].wall += 12'345 + thread;
  units[1].extra[0] = 777;
  units[1].values = {};    // no call path is known
  units[2].mpi = 250'000;  // less than the sum of the call paths
  units[2].own = 3001;
  units[3] = {};
  units[3].loop = -1;
  units[3].cluster = measurement::stopped_unit;
  units[3].wall = 5000;
  units[3].cpu_ns = 100;
  return units;
}

TEST(Totals, settle_equal_claims_by_the_rules_too) {
  SampleRank sample = plausible_rank();
  const OtherUnits job(sample, several_units);
  const Profile profile = write_and_read(job.record);
  EXPECT_EQ(expect_all_equal(profile), 2);
  const RunTotals& run = *profile.ranks[0].locations[1].run;
  EXPECT_EQ(run.times.stopped, 5000);
  EXPECT_GT(run.times.no_path, 0);
  EXPECT_GT(run.times.not_on_cpu, 0);
  EXPECT_GT(run.times.mpi_no_path, 0);
  EXPECT_EQ(run.paths.size(), 43u) << "a call that took no time, too";
  // There are equal claims: of paths with the same weight some have a tick more than others.
  std::set<std::int64_t> ticks;
  for (const auto& row : run.paths)
    if (profile.paths[row.path].kind == NodeKind::Function && run.columns[row.first + 1] == 2 * 1000)
      ticks.insert(row.ticks);
  EXPECT_GT(ticks.size(), 1u);
}

TEST(Totals, share_out_the_metrics_that_the_user_has_asked_for) {
  SampleRank sample = plausible_rank();
  sample.add_extra_metrics();
  const OtherUnits job(sample, several_units);
  const Profile profile = write_and_read(job.record);
  EXPECT_EQ(expect_all_equal(profile), 2);
  const RunTotals& run = *profile.ranks[0].locations[0].run;
  EXPECT_EQ(run.extra.totals, (Columns{2'000'777, 2'700'000'000'000}));
  EXPECT_EQ(run.extra_no_path, (Columns{777, 900'000'000'000}));
  EXPECT_GT(run.extra.values.size(), 40u);
}

TEST(Totals, share_out_metrics_by_the_weights_of_samples_where_ticks_have_found_nothing) {
  static constexpr measurement::ExtraMetric metrics[] = {{"perf::PAGE-FAULTS", "1"}};
  SampleRank sample(0, 1, {});
  sample.add_raw_thread({{0, 0, 0, NodeKind::Root},
                         {0, 0, 0x10040, NodeKind::Function},
                         {0, 0, 0x10080, NodeKind::Function},
                         {0, 0, 0, NodeKind::Region}},
                        {{1, {1, 10, 0}}, {2, {1, 30, 0}}, {3, {1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5}}});
  sample.record().extra_metrics = metrics;
  sample.unit(0).extra[0] = 1005;
  const Profile profile = write_and_read(sample.record());
  EXPECT_EQ(expect_all_equal(profile), 1);
  Columns shares = profile.ranks[0].locations[0].run->extra.columns;
  std::ranges::sort(shares);
  EXPECT_EQ(shares, (Columns{5, 250, 750}));
}

TEST(Totals, of_metrics_without_a_tick_have_no_path) {
  SampleRank sample(0, 1, {});
  sample.add_thread({{{region("MPI_Send")}, {1, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0}}});
  sample.add_extra_metrics();  // at the node with number 1
  const Profile profile = write_and_read(sample.record());
  EXPECT_EQ(expect_all_equal(profile), 1);
  EXPECT_EQ(profile.ranks[0].locations[0].run->extra_no_path, (Columns{999'999, 899'999'999'001}));
}

TEST(Totals, of_parts_are_put_together) {
  static constexpr measurement::ExtraMetric other[] = {{"ru_utime", "ns"}, {"ru_stime", "ns"}};
  ScratchDirectory directory;
  put_manifest(directory.path, 3);
  for (int rank = 0; rank < 3; ++rank) {
    SampleRank sample = sample_rank(rank, 3, 2, 40);
    if (rank > 0) sample.add_extra_metrics();
    if (rank == 2) sample.record().extra_metrics = other;
    OtherUnits job(sample, several_units);
    EXPECT_TRUE(record::write_part(job.record, directory.c_str()).written);
  }
  const Profile profile = experiment::read_experiment(directory.path).profile;
  EXPECT_EQ(expect_all_equal(profile), 6);
  EXPECT_TRUE(profile.ranks[0].extra_metrics.empty());
  ASSERT_EQ(profile.ranks[2].extra_metrics.size(), 2u);
  EXPECT_EQ(profile.ranks[2].locations[0].run->extra.totals, (Columns{2'000'777, 2'700'000'000'000}));
}

TEST(Totals, take_several_nodes_of_one_path_as_one) {
  SampleRank sample(0, 1, {{"/plugin.so", "id", 0x10000, 0, 1}, {"/plugin.so", "id", 0x900000, 1}});
  sample.add_raw_thread({{0, 0, 0, NodeKind::Root},
                         {0, 0, 0x10010, NodeKind::Frame},
                         {1, 0, 3, NodeKind::Region},
                         {0, 1, 0x900010, NodeKind::Frame},
                         {3, 1, 3, NodeKind::Region},
                         {1, 0, 0x10040, NodeKind::Function},
                         {3, 1, 0x900040, NodeKind::Function}},
                        {{2, {1, 20, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
                         {4, {1, 22, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
                         {5, {3, 30}},
                         {6, {4, 40}}});
  sample.add_extra_metrics();
  const Profile profile = write_and_read(sample.record());
  EXPECT_EQ(expect_all_equal(profile), 1);
  const RunTotals& run = *profile.ranks[0].locations[0].run;
  ASSERT_EQ(run.paths.size(), 2u);
  const auto& call = run.paths[profile.paths[run.paths[0].path].kind == NodeKind::Region ? 0 : 1];
  EXPECT_EQ(call.ticks, 42);
  EXPECT_EQ(run.columns[call.first], 2);
  EXPECT_EQ(run.columns[call.first + 9], 20);
  EXPECT_EQ(run.extra.values.size(), 2u);
}

TEST(Totals, leave_out_call_paths_that_come_to_nothing) {
  SampleRank sample(0, 1, {{"/plugin.so", "id", 0x10000, 0, 1}, {"/plugin.so", "id", 0x900000, 1}});
  sample.add_raw_thread({{0, 0, 0, NodeKind::Root},
                         {0, 0, 0x10040, NodeKind::Function},
                         {0, 1, 0x900040, NodeKind::Function},
                         {0, 0, 0x10080, NodeKind::Function}},
                        {{1, {2, 50}}, {2, {-2, -50}}, {3, {1, 10}}});
  const Profile profile = write_and_read(sample.record());
  EXPECT_EQ(expect_all_equal(profile), 1);
  EXPECT_EQ(profile.ranks[0].locations[0].run->paths.size(), 1u);
}

TEST(Totals, of_a_location_without_units_are_none) {
  SampleRank sample = sample_rank(0, 1, 2, 10);
  const OtherUnits job(sample, [](std::int32_t thread, const record::UnitRecord& unit) {
    return std::vector<record::UnitRecord>(thread == 0 ? 0 : 1, unit);
  });
  const Profile profile = write_and_read(job.record);
  EXPECT_EQ(expect_all_equal(profile), 2);
  ASSERT_TRUE(profile.ranks[0].locations[0].run);
  EXPECT_EQ(profile.ranks[0].locations[0].run->times.wall, 0);
  EXPECT_TRUE(profile.ranks[0].locations[0].run->paths.empty());
  EXPECT_FALSE(profile.ranks[0].locations[1].run->paths.empty());
}

TEST(Totals, are_there_without_anything_to_measure) {
  SampleRank none(0, 1, {});
  EXPECT_EQ(expect_all_equal(write_and_read(none.record())), 0);
}

/// The contents of a section of one location, which has a path of each kind with columns, in pieces that a test may
/// replace.
struct Contents {
  std::vector<std::string> times{"wall", "user"};
  std::uint64_t totals = 2;
  std::vector<std::string> extra{"faults"};
  double squares = 0.5;
  std::vector<std::uint64_t> steps{1, 1, 1};
  std::uint64_t rows = 3;
  std::string behind;

  std::vector<std::byte> bytes() const {
    platform::Bytes out;
    record::Encoder encoder(out);
    encoder.varint(times.size());
    for (const auto& name : times) encoder.text(name);
    encoder.varint(totals);
    encoder.varint(extra.size());
    for (const auto& name : extra) encoder.text(name), encoder.text("1");
    encoder.varint(1);
    encoder.signed_varint(3);
    encoder.signed_varint(5003);
    encoder.text("worker");
    for (const int value : {10, 90, 4096}) encoder.signed_varint(value);
    encoder.varint(1);
    encoder.signed_varint(77);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(totals, 20); ++i)
      encoder.signed_varint(1000 + static_cast<std::int64_t>(i));
    encoder.real(squares);
    for (std::size_t i = 0; i < times.size(); ++i) encoder.signed_varint(2000 + static_cast<std::int64_t>(i));
    for (std::size_t i = 0; i < 2 * extra.size(); ++i) encoder.signed_varint(3000 + static_cast<std::int64_t>(i));
    encoder.varint(rows);
    constexpr int columns[] = {2, 2, 1};  // of the paths 1, 2, 3 in the schema below
    for (std::size_t i = 0; i < steps.size(); ++i) {
      encoder.varint(steps[i]);
      for (int c = 0; c <= columns[i]; ++c) encoder.signed_varint(static_cast<std::int64_t>(i + 1) * 100 + c);
      for (std::size_t m = 0; i < 2 && m < extra.size(); ++m) encoder.signed_varint(static_cast<std::int64_t>(i + 1));
    }
    encoder.raw(behind.data(), behind.size());
    return {out.begin(), out.end()};
  }
};

/// What is read of it from a file whose call paths have columns that this program does not know, and lack some others.
struct Reading {
  Profile profile;
  experiment::Rank rank;
  experiment::RankTotals read;
  std::string error;

  Reading(const std::vector<std::byte>& bytes, std::vector<std::uint32_t> mapping = {0, 1, 2, 3}) {
    profile.regions = {"MPI_Send"};
    profile.paths = {{0, NodeKind::Root, -1, 0},
                     {0, NodeKind::Region, -1, 0},
                     {0, NodeKind::Function, -1, 0x10},
                     {0, NodeKind::Marked, -1, 0}};
    experiment::Schema schema;
    schema.totals = {std::nullopt, 1};  // the file's second one is our second one
    schema.losses = {2};
    schema.columns[static_cast<std::size_t>(NodeKind::Region)] = {{}, {1}};
    schema.columns[static_cast<std::size_t>(NodeKind::Function)] = {{1}, {0}};
    schema.columns[static_cast<std::size_t>(NodeKind::Marked)] = {{0}};
    rank.rank = 4;
    rank.paths = std::move(mapping);
    const experiment::InputFile file("f", bytes);
    try {
      experiment::SectionReader section(file, "totals", 0, bytes);
      read = experiment::read_totals(section, schema, profile, rank);
    } catch (const experiment::ReadError& failure) {
      error = failure.what();
    }
  }
};

TEST(TotalsSection, is_read_by_itself_and_by_name) {
  const Reading read(Contents{}.bytes());
  ASSERT_EQ(read.error, "");
  ASSERT_EQ(read.read.locations.size(), 1u);
  const experiment::LocationDefinition& definition = read.read.locations[0];
  EXPECT_EQ(definition.rank, 4);
  EXPECT_EQ(definition.thread, 3);
  EXPECT_EQ(definition.os_thread_id, 5003);
  EXPECT_EQ(definition.name, "worker");
  EXPECT_EQ(definition.end, 90);
  EXPECT_EQ(definition.arena_bytes, 4096);
  EXPECT_EQ(definition.losses[2], 77);
  const RunTotals& run = *read.read.locations[0].run;
  EXPECT_EQ(run.totals.*format::total_columns[1].total, 1001);
  EXPECT_EQ(run.totals.*format::total_columns[0].total, 0);
  EXPECT_EQ(run.totals.weight_user_squared, 0.5);
  EXPECT_EQ(run.times.wall, 2000);
  EXPECT_EQ(run.times.user, 2001);
  EXPECT_EQ(run.times.mpi, 0);
  EXPECT_EQ(read.read.extra_metrics.size(), 1u);
  EXPECT_EQ(run.extra.totals, (Columns{3000}));
  EXPECT_EQ(run.extra_no_path, (Columns{3001}));
  ASSERT_EQ(run.paths.size(), 3u);
  EXPECT_EQ(run.paths[0].ticks, 100);
  EXPECT_EQ(run.columns[run.paths[0].first], 0);
  EXPECT_EQ(run.columns[run.paths[0].first + 1], 102);
  EXPECT_EQ(run.columns[run.paths[1].first], 202);
  EXPECT_EQ(run.columns[run.paths[1].first + 1], 201);
  EXPECT_EQ(run.paths[2].ticks, 300);
  ASSERT_EQ(run.extra.values.size(), 2u);
  EXPECT_EQ(run.extra.of(run.extra.values[1], 0), 2);
}

TEST(TotalsSection, of_a_later_version_has_more) {
  Contents later;
  later.times = {"user", "on the moon", "wall"};
  later.totals = 5;
  const Reading read(later.bytes());
  ASSERT_EQ(read.error, "");
  EXPECT_EQ(read.read.locations[0].run->times.user, 2000);
  EXPECT_EQ(read.read.locations[0].run->times.wall, 2002);
}

TEST(TotalsSection, that_is_damaged_is_refused) {
  const auto error_of = [](auto damage) {
    Contents contents;
    damage(contents);
    return Reading(contents.bytes()).error;
  };
  const auto says = [](const std::string& error, const char* what) {
    return error.find(what) != std::string::npos ? "" : "says: " + error;
  };
  constexpr auto many = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(says(error_of([](Contents& c) { c.totals = many; }), "more totals of a unit"), "");
  EXPECT_EQ(says(error_of([](Contents& c) { c.rows = many; }), "shorter than it says"), "");
  EXPECT_EQ(says(error_of([](Contents& c) { c.rows = 4; }), "shorter than it says"), "");
  EXPECT_EQ(says(error_of([](Contents& c) { c.rows = 2; }), "longer than it says"), "");
  EXPECT_EQ(says(error_of([](Contents& c) { c.behind = "x"; }), "longer than it says"), "");
  EXPECT_EQ(says(error_of([](Contents& c) { c.squares = std::numeric_limits<double>::infinity(); }), "is none"), "");
  EXPECT_EQ(says(error_of([](Contents& c) { c.steps = {1, 0, 1}; }), "a call path twice"), "");
  EXPECT_EQ(says(error_of([](Contents& c) { c.steps = {1, 1, 2}; }), "a call path that is not there"), "");
  EXPECT_EQ(says(error_of([](Contents& c) { c.steps = {1, 1, many}; }), "a call path that is not there"), "");
  EXPECT_EQ(says(error_of([](Contents& c) {
                   c.extra.clear();
                   for (int i = 0; i < 65; ++i) c.extra.push_back(std::to_string(i));
                 }),
                 "more metrics than any version has"),
            "");
  EXPECT_EQ(says(Reading(Contents{}.bytes(), {0, 1, 1, 3}).error, "two call paths of a rank are one"), "");
}

TEST(TotalsSection, that_ends_early_is_refused_wherever_it_ends) {
  const std::vector<std::byte> bytes = Contents{}.bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(Reading({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}).error, "") << size;
}

}  // namespace
}  // namespace refrain::testing

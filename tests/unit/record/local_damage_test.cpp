// Damage is local: it costs its own part, is named, and everything else stays the same to the last digit.

#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

#include "format/checksum.hpp"
#include "format/profile_file.hpp"
#include "measurement/iterations.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/run/iteration_samples.hpp"
#include "offline/run/iterations.hpp"
#include "offline/run/totals.hpp"
#include "record/compressor.hpp"
#include "record/frames.hpp"
#include "record/writer.hpp"
#include "tests/fuzz/archive/file_surgery.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/thread_peers.hpp"
#include "tests/unit/record/whole_experiment.hpp"

namespace refrain::testing {
namespace {

using experiment::Depth;
using experiment::Experiment;
using format::FrameKind;
using format::Section;

constexpr int job_ranks = 3, threads = 2, paths = 40;

/// The middle rank has metrics that the user has asked for, the others have loops; samples cannot have both.
SampleRank job_rank(int rank) {
  SampleRank sample(rank, job_ranks, sample_modules(rank));
  for (int thread = 0; thread < threads; ++thread) {
    Tree tree = sample_tree(rank, thread, paths);
    for (auto& [path, columns] : tree)
      for (std::int64_t& value : columns) value %= 1'000'000;  // so that their sums do not overflow
    sample.add_thread(tree);
  }
  if (rank == 1) sample.add_extra_metrics();
  for (std::size_t thread = 0; rank != 1 && thread < threads; ++thread) {
    sample.add_loop(thread, "timestep", 4, 150);
    sample.add_samples_and_slopes(thread);
  }
  sample.add_communicator({0, -1, 0, 0, rank, job_ranks, 0, "MPI_COMM_WORLD", {}}, {0, 1, 2});
  sample.add_communicator({1, 0, 3, 0, rank, job_ranks, 0, "", {}, 70}, {0, 1});
  sample.add_window({1, format::WindowKind::Shared, "halo", 9}, {{0, 0, 1, 20, 300, 4000}, {0, 1, 1, 2, 3, 4}});
  return sample;
}

constexpr std::size_t definitions_field = 40;
constexpr std::size_t entry_of_rank(int rank) {
  return format::header_size + static_cast<std::size_t>(rank) * format::rank_entry_size;
}
std::size_t block_of_rank(const std::string& file, int rank) {
  return get<std::uint64_t>(file, entry_of_rank(rank) + 8);
}

struct ByteRange {
  std::size_t at = 0, size = 0;
};
/// The range of a section's payload; empty: the block does not have it.
ByteRange section_of(const std::string& file, std::size_t block, Section type) {
  const auto count = get<std::uint32_t>(file, block);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = block + format::section_table_head + i * format::section_entry_size;
    if (get<std::uint32_t>(file, entry) == static_cast<std::uint32_t>(type))
      return {block + get<std::uint64_t>(file, entry + 8), get<std::uint64_t>(file, entry + 16)};
  }
  return {};
}

std::string flipped(std::string bytes, std::size_t at, int bit = 3) {
  bytes[at] = static_cast<char>(bytes[at] ^ 1 << bit);
  return bytes;
}

/// Names of call paths, whose numbers change when a rank is gone.
std::vector<std::string> path_names(const experiment::ProfileDefinitions& definitions) {
  experiment::Profile profile;
  static_cast<experiment::ProfileDefinitions&>(profile) = definitions;
  std::vector<std::string> names;
  for (const Path& path : paths_of(profile)) {
    std::string& name = names.emplace_back();
    for (const Step& step : path) name += step.name + "+" + std::to_string(step.offset) + "/";
  }
  return names;
}

/// The known facts about a rank by topic, with every number to its last digit.
using Facts = std::map<std::string, std::string>;

class FactFinder {
 public:
  FactFinder(const Experiment& of, const std::vector<std::string>& names, std::size_t rank_index)
      : definitions_(of.definitions()), names_(names) {
    const auto run = of.rank(rank_index, Depth::Run), whole = of.rank(rank_index, Depth::Whole);
    if (!run || !whole) return;
    add_run(*run, "");
    add_run(*whole, " of the whole");
    add_definitions(*whole);
    for (const auto& location : whole->locations) {
      topic("units");
      for (const auto& unit : location.units) add_unit(unit, definitions_.paths);
      topic("metrics of units");
      for (const auto& unit : location.units) add_extra(unit.extra);
      for (const auto& loop : location.loops) add_loop(*whole, loop);
    }
  }
  Facts take() {
    for (auto& [name, text] : texts_) facts_[name] = text.str();
    return std::move(facts_);
  }

 private:
  void topic(const std::string& name) {
    out_ = &texts_[name];
    *out_ << std::hexfloat;
  }
  template <class... Values>
  void add(const Values&... values) {
    ((*out_ << values << ' '), ...);
  }
  void add_row(std::map<std::string, std::string>& rows, std::uint32_t path, std::span<const std::int64_t> values) {
    std::string text;
    for (const std::int64_t value : values) text += std::to_string(value) + " ";
    rows[names_[path]] += text;
  }
  void add_rows(const std::map<std::string, std::string>& rows) {
    for (const auto& [path, values] : rows) add(path, values);
  }
  void add_totals(const format::UnitTotals& totals) {
    for (const auto& column : format::total_columns) add(totals.*column.total);
    add(totals.weight_user_squared);
  }
  void add_extra(const experiment::ExtraValues& extra) {
    for (const std::int64_t total : extra.totals) add(total);
    std::map<std::string, std::string> rows;
    for (const auto& row : extra.values)
      add_row(rows, row.path, std::span(extra.columns).subspan(row.first, extra.totals.size()));
    add_rows(rows);
  }
  void add_run(const experiment::Rank& rank, const std::string& of) {
    for (const auto& location : rank.locations) {
      const auto run =
          location.run ? *location.run : run::totals_of(location.units, rank, location, definitions_.paths);
      topic("run" + of);
      add_totals(run.totals);
      for (const auto& column : format::time_columns) add(run.times.*column.time);
      std::map<std::string, std::string> rows;
      for (const auto& row : run.paths) {
        add_row(rows, row.path, std::span(&row.ticks, 1));
        add_row(rows, row.path,
                std::span(run.columns).subspan(row.first, format::columns_of(definitions_.paths[row.path].kind)));
      }
      add_rows(rows);
      topic("metrics" + of);
      for (const auto& metric : rank.extra_metrics) add(metric.name, metric.unit);
      add_extra(run.extra);
      for (const std::int64_t rest : run.extra_no_path) add(rest);
    }
  }
  void add_definitions(const experiment::Rank& rank) {
    topic("process");
    add(rank.rank, rank.process_id, rank.host, rank.ticks_per_second, rank.begin_epoch_ns, rank.call_cost.median,
        rank.tick_cost.high);
    topic("communicators");
    for (const auto& c : rank.communicators) {
      add(c.id, c.parent, c.ordinal, c.leader, c.rank, c.size, c.remote_size, c.name);
      for (std::size_t i = 0; i < c.members.size(); ++i) add(c.members[i]);
    }
    topic("communicators made");
    for (const auto& c : rank.communicators) add(c.made);
    topic("windows");
    for (const auto& w : rank.windows) {
      add(w.communicator, static_cast<int>(w.kind), w.made, w.name);
      for (const auto& t : w.targets) add(t.target, t.puts, t.bytes_put, t.gets, t.bytes_got);
    }
    for (const auto& location : rank.locations) {
      topic("locations");
      add(location.thread, location.os_thread_id, location.name, location.begin, location.end, location.arena_bytes);
      topic("losses");
      for (const std::int64_t loss : location.losses) add(loss);
      topic("own times");
      for (const auto& own : location.own_times) add(own.timed, own.mean, own.error);
    }
  }
  void add_unit(const experiment::Unit& unit, const std::vector<experiment::CallPath>& all) {
    add(unit.loop, unit.cluster);
    add_totals(unit);
    std::map<std::string, std::string> rows;
    for (const auto& row : unit.values)
      add_row(rows, row.path, std::span(unit.columns).subspan(row.first, format::columns_of(all[row.path].kind)));
    add_rows(rows);
  }
  void add_loop(const experiment::Rank& rank, const experiment::Loop& loop) {
    topic("clusters");
    add(loop.name, loop.iterations);
    for (const auto& c : loop.clusters)
      add(c.label, c.class_index, c.members, c.first, c.last, c.exemplar, c.minimum[3]);
    topic("slopes");
    for (const auto& of_class : loop.slopes) {
      std::map<std::string, const experiment::PathSlopes*> by_name;
      for (const auto& path : of_class.paths) by_name[names_[path.path]] = &path;
      for (const auto& [name, path] : by_name) {
        add(of_class.class_index, name);
        for (const float slope : path->first) add(slope);
      }
    }
    topic("iterations");
    run::for_each_iteration(loop, [&](std::int64_t iteration, std::int32_t cluster, auto row) {
      add(iteration, cluster);
      for (const std::int64_t value : row) add(value);
    });
    topic("samples of iterations");
    run::IterationSamples samples(definitions_, rank, loop);
    for (std::int64_t i = 0; i < loop.iterations; ++i)
      if (const auto* recorded = samples.of(i)) {
        std::map<std::string, std::string> rows;
        for (const auto& row : *recorded) add_row(rows, row.path, std::span(&row.samples, 1));
        add(i);
        add_rows(rows);
      }
  }

  const experiment::ProfileDefinitions& definitions_;
  const std::vector<std::string>& names_;
  std::map<std::string, std::ostringstream> texts_;
  std::ostringstream* out_ = nullptr;
  Facts facts_;
};

struct Findings {
  std::map<int, Facts> ranks;  ///< no topics: nothing of the rank could be read
  std::vector<std::string> damage;
  std::string error;  ///< set if nothing can be shown
};

Findings findings_of(const std::string& directory) {
  Findings found;
  try {
    const auto experiment = Experiment::open(directory);
    const auto names = path_names(experiment->definitions());
    for (std::size_t rank_index = 0; rank_index < experiment->ranks().size(); ++rank_index) {
      Facts facts = FactFinder(*experiment, names, rank_index).take();
      if (!facts.empty()) found.ranks[experiment->ranks()[rank_index]] = std::move(facts);
    }
    found.damage = experiment->damage();
  } catch (const experiment::ReadError& error) {
    found.error = error.what();
  }
  return found;
}

/// The topics in which a rank has changed.
std::set<std::string> changed(const Facts& before, const Facts& after) {
  std::set<std::string> topics;
  for (const auto& [name, text] : before)
    if (const auto at = after.find(name); !text.empty() && (at == after.end() || at->second != text))
      topics.insert(name);
  for (const auto& [name, text] : after)
    if (!text.empty() && !before.contains(name)) topics.insert(name);
  return topics;
}

::testing::AssertionResult has_line(const std::vector<std::string>& lines, const std::string& begin,
                                    const std::string& part) {
  for (const std::string& line : lines)
    if (line.starts_with(begin) && line.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  auto none = ::testing::AssertionFailure() << "no line of damage has '" << part << "':";
  for (const std::string& line : lines) none << "\n  " << line;
  return none;
}

/// A reader that wants everything or nothing refuses each of them.
bool strictly_refused(const std::string& directory) {
  try {
    for (const auto& rank : experiment::read_experiment(directory).profile.ranks)
      for (const auto& location : rank.locations)
        for (const auto& loop : location.loops) {
          run::for_each_iteration(loop, [](auto, auto, auto) {});
          (void)experiment::read_samples(rank, loop);
        }
  } catch (const experiment::ReadError&) {
    return true;
  }
  return false;
}

TEST(DamageLog, counts_every_line_once_however_many_are_kept) {
  experiment::DamageLog log;
  const std::size_t lines = experiment::DamageLog::most + 50;
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < lines; ++i) log.add("file " + std::to_string(i), "lost");
  EXPECT_EQ(log.count(), lines);
  ASSERT_EQ(log.lines().size(), experiment::DamageLog::most);
  EXPECT_EQ(log.lines().back(), "file 99; lost");
}

class LocalDamage : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const ScratchDirectory directory;
    put_manifest(directory.path, job_ranks);
    EXPECT_TRUE(write_job(directory.path, job_ranks, job_rank));
    good_file() = read_file(directory.path + "/profile.refrain");
    good() = findings_of(directory.path);
  }
  static std::string& good_file() {
    static std::string bytes;
    return bytes;
  }
  static Findings& good() {
    static Findings found;
    return found;
  }

  void SetUp() override { put_manifest(directory.path, job_ranks); }
  /// Replaces the file by one with these bytes.
  Findings with(const std::string& bytes) {
    write_file(profile, bytes);
    return findings_of(directory.path);
  }
  /// Checks that no other rank has changed.
  static void expect_others(const Findings& found, int damaged) {
    EXPECT_EQ(found.error, "");
    for (int rank = 0; rank < job_ranks; ++rank) {
      if (rank == damaged) continue;
      ASSERT_TRUE(found.ranks.contains(rank)) << rank;
      EXPECT_EQ(changed(good().ranks[rank], found.ranks.at(rank)), std::set<std::string>{}) << "rank " << rank;
    }
  }

  const ScratchDirectory directory;
  const std::string profile = directory.path + "/profile.refrain";
};

TEST_F(LocalDamage, the_good_one_has_everything) {
  EXPECT_TRUE(good().damage.empty());
  EXPECT_EQ(good().ranks.size(), 3u);
  for (const char* name : {"run", "communicators", "communicators made", "windows", "units", "clusters", "slopes",
                           "iterations", "samples of iterations", "own times", "losses"})
    EXPECT_FALSE(good().ranks[2][name].empty()) << name;
  EXPECT_FALSE(good().ranks[1]["metrics of units"].empty());
  EXPECT_FALSE(good().ranks[1]["metrics"].empty());
  EXPECT_NE(good().ranks[0]["run"], good().ranks[2]["run"]) << "ranks differ";
}

/// What damage to a section costs its rank; nothing: the whole rank.
struct Cost {
  Section section;
  std::set<std::string> topics;
  const char* said;
};
const Cost costs[] = {
    {Section::Rank, {}, "; rank # is missing"},
    {Section::PathMapping, {}, "; rank # is missing"},
    {Section::Totals, {"none"}, "; the totals of rank # are those of its units"},
    {Section::Locations,
     {"units", "metrics of units"},
     "; what call paths of rank # have in iterations and clusters is missing"},
    {Section::Communicators, {"communicators", "communicators made"}, "; the communicators of rank # are missing"},
    {Section::CommunicatorsMade, {"communicators made"}, "; how often communicators of rank # were made is missing"},
    {Section::Windows, {"windows"}, "; the windows of rank # are missing"},
    {Section::OwnTimes, {"own times"}, "; Refrain's own time on rank # is as calibrated"},
    {Section::Loops,
     {"clusters", "slopes", "iterations", "samples of iterations"},
     "; the iterations of rank # are missing"},
    {Section::SingleIterations, {"none"}, "; the slowest iterations and times of passed ones of rank # are missing"},
    {Section::Slopes, {"slopes"}, "; call paths of iterations of rank # are reconstructed without slopes"},
    {Section::Extra, {"metrics of units"}, "; what units have of the metrics that were asked for is missing on rank #"},
};

TEST_F(LocalDamage, of_a_section_of_a_rank_costs_what_it_holds) {
  std::set<Section> met;
  for (int rank = 0; rank < job_ranks; ++rank)
    for (const Cost& cost : costs) {
      const ByteRange range = section_of(good_file(), block_of_rank(good_file(), rank), cost.section);
      if (range.size == 0) continue;
      met.insert(cost.section);
      for (const std::size_t at : {range.at, range.at + range.size / 2, range.at + range.size - 1}) {
        SCOPED_TRACE("rank " + std::to_string(rank) + ", section " + std::to_string(static_cast<int>(cost.section)) +
                     ", byte " + std::to_string(at));
        Findings found = with(flipped(good_file(), at));
        expect_others(found, rank);
        std::string said = cost.said;
        if (const auto number = said.find('#'); number != said.npos) said.replace(number, 1, std::to_string(rank));
        EXPECT_TRUE(has_line(
            found.damage,
            profile + ": at byte " + std::to_string(range.at) + ": rank " + std::to_string(rank) + ", section '",
            said));
        EXPECT_EQ(found.damage.size(), 1u);
        EXPECT_EQ(found.ranks.contains(rank), !cost.topics.empty());
        if (!found.ranks.contains(rank)) continue;
        for (const std::string& topic : changed(good().ranks[rank], found.ranks.at(rank)))
          EXPECT_TRUE(cost.topics.contains(topic)) << topic;
        for (const std::string& topic : cost.topics)
          if (!good().ranks[rank][topic].empty()) {
            EXPECT_NE(found.ranks.at(rank)[topic], good().ranks[rank][topic]) << topic;
          }
        EXPECT_TRUE(strictly_refused(directory.path));
      }
    }
  EXPECT_EQ(met.size(), std::size(costs)) << "a section that no rank has";
}

TEST_F(LocalDamage, of_slopes_is_told_where_nothing_needs_them) {
  const ByteRange slopes = section_of(good_file(), block_of_rank(good_file(), 2), Section::Slopes);
  write_file(profile, flipped(good_file(), slopes.at + slopes.size / 2));
  const auto experiment = Experiment::open(directory.path);
  ASSERT_TRUE(experiment->rank(2, Depth::Run));
  EXPECT_TRUE(experiment->damage().empty());
  ASSERT_TRUE(experiment->rank(2, Depth::Loops));
  EXPECT_TRUE(has_line(experiment->damage(), profile, "call paths of iterations of rank 2 are reconstructed without"));
}

TEST_F(LocalDamage, of_the_sections_with_units_and_totals_leaves_the_other_ranks) {
  const std::size_t block = block_of_rank(good_file(), 1);
  const std::string bytes = flipped(flipped(good_file(), section_of(good_file(), block, Section::Totals).at + 5),
                                    section_of(good_file(), block, Section::Locations).at + 5);
  const Findings found = with(bytes);
  expect_others(found, 1);
  EXPECT_FALSE(found.ranks.contains(1));
  EXPECT_TRUE(has_line(found.damage, profile, "rank 1 is missing"));
}

TEST_F(LocalDamage, a_section_of_loops_that_is_not_there_is_missed_by_its_clusters) {
  std::string bytes = good_file();
  const std::size_t block = block_of_rank(bytes, 2), count = get<std::uint32_t>(bytes, block);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = block + format::section_table_head + i * format::section_entry_size;
    if (get<std::uint32_t>(bytes, entry) == static_cast<std::uint32_t>(Section::Loops))
      put<std::uint32_t>(bytes, entry, 0x7777);
  }
  const std::size_t table = format::section_table_head + count * format::section_entry_size;
  put(bytes, block + table, format::checksum(bytes.data() + block, table));
  const Findings found = with(bytes);
  expect_others(found, 2);
  EXPECT_TRUE(has_line(found.damage, profile + ": at byte ", "is missing; the iterations of rank 2 are missing"));
  EXPECT_TRUE(strictly_refused(directory.path));
}

TEST_F(LocalDamage, of_the_table_of_sections_costs_the_rank) {
  for (int rank = 0; rank < job_ranks; ++rank)
    for (const std::size_t at : {0, 4, 8, 30, 52, 70}) {
      const Findings found = with(flipped(good_file(), block_of_rank(good_file(), rank) + at));
      expect_others(found, rank);
      EXPECT_FALSE(found.ranks.contains(rank));
      EXPECT_TRUE(has_line(found.damage, profile + ": at byte ", "rank " + std::to_string(rank) + " is missing"));
      EXPECT_EQ(found.damage.size(), 1u);
      EXPECT_TRUE(strictly_refused(directory.path));
    }
}

TEST_F(LocalDamage, of_an_entry_of_the_rank_table_costs_the_rank) {
  for (int rank = 0; rank < job_ranks; ++rank)
    for (std::size_t at = 0; at < format::rank_entry_size; at += 5) {
      const Findings found = with(flipped(good_file(), entry_of_rank(rank) + at));
      expect_others(found, rank);
      EXPECT_FALSE(found.ranks.contains(rank));
      EXPECT_TRUE(has_line(found.damage, profile + ": at byte " + std::to_string(entry_of_rank(rank)) + ": ",
                           "rank " + std::to_string(rank) + " is missing"));
      EXPECT_TRUE(strictly_refused(directory.path));
    }
}

TEST_F(LocalDamage, of_the_header_leaves_nothing) {
  for (std::size_t at = 0; at < format::header_size; ++at) {
    const Findings found = with(flipped(good_file(), at));
    EXPECT_EQ(found.error.rfind(profile + ": at byte ", 0), 0u) << at << ": " << found.error;
  }
}

TEST_F(LocalDamage, of_definitions_costs_names_only_where_numbers_do_without) {
  struct Definition {
    Section section;
    const char* said;
    bool refused, names;
  };
  const Definition definitions[] = {{Section::Writer, "the version that wrote it is not known", false, false},
                                    {Section::Losses, "the losses are not shown", false, false},
                                    {Section::Regions, "MPI functions and marked regions have no names", false, true},
                                    {Section::Modules, "functions have no names", false, true},
                                    {Section::Metrics, "section 'metrics'", true, false},
                                    {Section::Paths, "section 'paths'", true, false}};
  const auto block = get<std::uint64_t>(good_file(), definitions_field);
  for (const Definition& of : definitions) {
    SCOPED_TRACE(of.said);
    const ByteRange range = section_of(good_file(), block, of.section);
    const Findings found = with(flipped(good_file(), range.at + range.size / 2));
    EXPECT_TRUE(strictly_refused(directory.path));
    const std::string begin = profile + ": at byte " + std::to_string(range.at) + ": definitions, ";
    if (of.refused) {
      EXPECT_TRUE(has_line({found.error}, begin, of.said));
      continue;
    }
    EXPECT_TRUE(has_line(found.damage, begin, of.said));
    EXPECT_EQ(found.damage.size(), 1u);
    ASSERT_EQ(found.ranks.size(), 3u);
    for (const auto& [rank, facts] : found.ranks) {
      auto topics = changed(good().ranks[rank], facts);
      topics.erase("losses");
      if (of.names) {  // rows have other names but the same numbers, which are compared below
        EXPECT_TRUE(topics.contains("run"));
        for (const char* name : {"process", "communicators", "windows", "clusters", "iterations", "own times"})
          EXPECT_FALSE(topics.contains(name)) << name;
      } else {
        EXPECT_EQ(topics, std::set<std::string>{}) << rank;
      }
    }
    if (!of.names) continue;
    const auto before = Experiment::of_file("f", std::as_bytes(std::span(good_file())));
    const auto after = Experiment::open(directory.path);
    ASSERT_EQ(before->definitions().paths.size(), after->definitions().paths.size());
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const auto a = before->rank(rank, Depth::Run), b = after->rank(rank, Depth::Run);
      for (std::size_t l = 0; l < a->locations.size(); ++l) {
        EXPECT_EQ(a->locations[l].run->columns, b->locations[l].run->columns);
        EXPECT_EQ(a->locations[l].run->times.user, b->locations[l].run->times.user);
        EXPECT_EQ(a->locations[l].run->paths.size(), b->locations[l].run->paths.size());
      }
    }
  }
}

TEST_F(LocalDamage, of_the_table_of_definitions_leaves_nothing) {
  const auto block = get<std::uint64_t>(good_file(), definitions_field);
  const Findings found = with(flipped(good_file(), block + 20));
  EXPECT_TRUE(has_line({found.error}, profile + ": at byte ", "definitions"));
}

TEST_F(LocalDamage, a_file_that_ends_early_has_the_ranks_before_its_end) {
  const std::size_t second = block_of_rank(good_file(), 1);
  const Findings found = with(good_file().substr(0, second + 100));
  EXPECT_EQ(found.error, "");
  EXPECT_TRUE(found.ranks.contains(0));
  EXPECT_EQ(changed(good().ranks[0], found.ranks.at(0)), std::set<std::string>{});
  EXPECT_EQ(found.ranks.size(), 1u);
  EXPECT_TRUE(has_line(found.damage, profile, "rank 1 is missing"));
  EXPECT_TRUE(has_line(found.damage, profile, "rank 2 is missing"));
}

TEST_F(LocalDamage, of_the_manifest_costs_what_it_says) {
  write_file(profile, good_file());
  const std::string manifest = directory.path + "/manifest.json", text = read_file(manifest);
  const auto expect_all = [&](const std::string& said) {
    const Findings found = findings_of(directory.path);
    expect_others(found, -1);
    EXPECT_TRUE(has_line(found.damage, manifest + ": ", said));
    EXPECT_TRUE(has_line(found.damage, manifest + ": ", "the command, its settings and when it ran are not known"));
    EXPECT_EQ(found.damage.size(), 1u);
    EXPECT_TRUE(strictly_refused(directory.path));
  };
  write_file(manifest, text.substr(0, text.size() / 2));
  expect_all("at byte ");
  write_file(manifest, "");
  expect_all("the file is empty");
  write_file(manifest, flipped(text, text.find("\"state\"")));
  expect_all("at byte ");
  std::filesystem::remove(manifest);
  expect_all("");
  std::filesystem::create_directory(manifest);
  expect_all("is not a file");
  std::filesystem::remove(manifest);

  const std::size_t version = text.find("\"format\": ");
  ASSERT_NE(version, text.npos);
  std::string newer = text;
  newer.replace(version, 11, "\"format\": 9");
  write_file(manifest, newer);
  EXPECT_TRUE(has_line({findings_of(directory.path).error}, manifest + ": ", "written by a newer Refrain (format 9"));
}

TEST_F(LocalDamage, a_file_of_a_newer_format_is_refused) {
  std::string bytes = good_file();
  put<std::uint16_t>(bytes, 12, 2);
  EXPECT_TRUE(has_line({with(bytes).error}, profile + ": at byte 12: ", "written by a newer Refrain (format 2."));
}

/// Every rank has written a file of its own.
class DamagedParts : public LocalDamage {
 protected:
  void SetUp() override {
    LocalDamage::SetUp();
    for (int rank = 0; rank < job_ranks; ++rank) {
      SampleRank sample = job_rank(rank);
      ASSERT_TRUE(record::write_part(sample.record(), directory.c_str()).written);
      parts.push_back(read_file(part(rank)));
    }
    whole = findings_of(directory.path);
    ASSERT_TRUE(whole.damage.empty());
    ASSERT_EQ(whole.ranks.size(), 3u);
  }
  std::string part(int rank) const { return directory.path + "/part-" + std::to_string(rank) + ".refrain"; }
  void expect_without(int rank, const std::string& said) const {
    const Findings found = findings_of(directory.path);
    EXPECT_EQ(found.error, "");
    for (int other = 0; other < job_ranks; ++other) {
      if (other == rank) continue;
      ASSERT_TRUE(found.ranks.contains(other));
      EXPECT_EQ(changed(whole.ranks.at(other), found.ranks.at(other)), std::set<std::string>{}) << other;
    }
    EXPECT_FALSE(found.ranks.contains(rank));
    EXPECT_TRUE(has_line(found.damage, part(rank) + ": ", said));
    EXPECT_TRUE(has_line(found.damage, part(rank) + ": ", "rank " + std::to_string(rank) + " is missing"));
    EXPECT_EQ(found.damage.size(), 1u);
    EXPECT_TRUE(strictly_refused(directory.path));
  }
  std::vector<std::string> parts;
  Findings whole;
};

TEST_F(DamagedParts, cost_their_rank) {
  for (int rank = 0; rank < job_ranks; ++rank) {
    SCOPED_TRACE(rank);
    const std::string good_part = parts[static_cast<std::size_t>(rank)];
    write_file(part(rank), "");
    expect_without(rank, "the file is empty");
    write_file(part(rank), good_part.substr(0, 20));
    expect_without(rank, "the file ends in its header");
    write_file(part(rank), good_part.substr(0, 200));
    expect_without(rank, "goes beyond the end of the file");
    write_file(part(rank), parts[static_cast<std::size_t>((rank + 1) % job_ranks)]);
    expect_without(rank, "is not the profile of the rank in its name");
    std::filesystem::remove(part(rank));
    std::filesystem::create_directory(part(rank));
    expect_without(rank, "is not a file");
    std::filesystem::remove(part(rank));
    write_file(part(rank), good_part);
  }
}

TEST_F(DamagedParts, all_of_them_leave_nothing) {
  for (int rank = 0; rank < job_ranks; ++rank) write_file(part(rank), "");
  EXPECT_TRUE(has_line({findings_of(directory.path).error}, directory.path + "/part-", "the file is empty"));
}

TEST_F(DamagedParts, are_what_is_left_of_a_damaged_profile) {
  write_file(profile, good_file().substr(0, 50));
  const Findings found = findings_of(directory.path);
  for (int rank = 0; rank < job_ranks; ++rank)
    EXPECT_EQ(changed(whole.ranks.at(rank), found.ranks.at(rank)), std::set<std::string>{}) << rank;
  EXPECT_TRUE(has_line(found.damage, profile + ": ", "what it holds is missing"));
}

TEST_F(DamagedParts, of_a_newer_format_are_refused) {
  std::string bytes = parts[1];
  put<std::uint16_t>(bytes, 12, 2);
  write_file(part(1), bytes);
  EXPECT_TRUE(has_line({findings_of(directory.path).error}, part(1) + ": ", "written by a newer Refrain"));
}

/// A rank whose log is a frame for each block of 1024 bytes.
class DamagedFrames : public ::testing::Test {
 protected:
  static constexpr int iterations = 600;
  static constexpr std::size_t head = format::frame_head_size;

  void SetUp() override {
    put_manifest(directory.path, 1);
    const record::LoopRecord& loop = sample.record().locations[0].loops[0];
    cut(loop.log);
    cut(loop.log_tail);
    ASSERT_GE(frames.size(), 4u);
    ASSERT_EQ(first.back() + count.back(), iterations);
  }
  void cut(std::span<const std::byte> blocks) {
    while (!blocks.empty()) {
      const std::size_t size = format::load_little_endian<std::uint32_t>(blocks.data() + 4);
      first.push_back(static_cast<int>(format::load_little_endian<std::uint64_t>(blocks.data() + 8)));
      count.push_back(static_cast<int>(format::load_little_endian<std::uint32_t>(blocks.data() + 16)));
      platform::Bytes out;
      ASSERT_TRUE(record::append_frame(FrameKind::Log, 0, 0, blocks.first(size), compressor, out));
      const auto bytes = out.view();
      frames.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      blocks = blocks.subspan(size);
    }
  }
  std::string all_frames() const {
    std::string all;
    for (const std::string& frame : frames) all += frame;
    return all;
  }
  std::size_t offset_of_frame(std::size_t frame) const {
    std::size_t at = 0;
    for (std::size_t i = 0; i < frame; ++i) at += frames[i].size();
    return at;
  }
  /// The frames are in the profile, or in a file of the rank's own.
  void write(bool spilled) {
    record::RankRecord record = sample.record();
    std::vector<record::LoopRecord> loops(record.locations[0].loops.begin(), record.locations[0].loops.end());
    loops[0].log = loops[0].log_tail = {};
    std::vector<record::LocationRecord> locations(record.locations.begin(), record.locations.end());
    locations[0].loops = loops;
    record.locations = locations;
    const std::string all = all_frames();
    if (spilled) {
      record.spilled_bytes = all.size();
      write_file(spill_name, all);
    } else {
      record.early_iterations = std::as_bytes(std::span(all));
    }
    ASSERT_TRUE(record::write_profile(record, {}, directory.c_str(), 0).written);
    good_file = read_file(profile);
    whole = read();
    ASSERT_EQ(whole.values.size(), static_cast<std::size_t>(iterations));
    ASSERT_TRUE(whole.damage.empty());
  }
  struct Read {
    std::map<std::int64_t, std::vector<std::int64_t>> values;  ///< cluster and vector of each iteration
    std::vector<std::string> damage;
    std::int64_t wall = 0;
    bool single = true;  ///< iterations read one by one are the same
  };
  Read read() const {
    Read read;
    const auto experiment = Experiment::open(directory.path);
    const auto rank = experiment->rank(0, Depth::Loops);
    if (!rank) throw std::runtime_error("the rank is gone");
    read.wall = rank->locations[0].run->times.wall;
    const experiment::Loop& loop = rank->locations[0].loops[0];
    const auto take = [](auto& to) {
      return [&to](std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) {
        auto& values = to[iteration];
        values = {row.begin(), row.end()};
        values.push_back(cluster);
      };
    };
    run::for_each_iteration(loop, take(read.values));
    std::map<std::int64_t, std::vector<std::int64_t>> one_by_one;
    for (const int i : first) run::with_iteration(loop, i, take(one_by_one));
    for (const int i : first)
      if (one_by_one.contains(i) != read.values.contains(i) ||
          (one_by_one.contains(i) && one_by_one[i] != read.values[i]))
        read.single = false;
    read.damage = experiment->damage();
    return read;
  }
  /// Checks that the iterations of these frames are a gap, and no others.
  void expect_gap(const std::set<std::size_t>& lost, const std::string& file) {
    Read now;
    ASSERT_NO_THROW(now = read());
    auto expected = whole.values;
    for (const std::size_t frame : lost)
      for (int i = first[frame]; i < first[frame] + count[frame]; ++i) expected.erase(i);
    EXPECT_TRUE(now.values == expected) << "read " << now.values.size() << " of " << expected.size();
    EXPECT_TRUE(now.single);
    EXPECT_EQ(now.wall, whole.wall);
    EXPECT_TRUE(has_line(now.damage, file + ": ", ""));
    EXPECT_TRUE(strictly_refused(directory.path));
  }

  const ScratchDirectory directory;
  const std::string profile = directory.path + "/profile.refrain";
  const std::string spill_name = directory.path + "/iterations-0.refrain";
  record::Compressor compressor;
  SampleRank sample = [] {
    SampleRank rank = sample_rank(0, 1, 1, 10);
    rank.add_loop(0, "timestep", 4, iterations);
    return rank;
  }();
  std::vector<std::string> frames;
  std::vector<int> first, count;  ///< iterations of each frame
  std::string good_file;
  Read whole;
};

/// Damages every field of the head, the contents, and the checksum.
std::vector<std::size_t> bytes_of_frame(const std::string& frame) {
  std::vector<std::size_t> offsets;
  for (std::size_t at = 0; at < format::frame_head_size; ++at) offsets.push_back(at);
  for (const std::size_t at : {format::frame_head_size, frame.size() / 2, frame.size() - 1}) offsets.push_back(at);
  return offsets;
}

TEST_F(DamagedFrames, in_the_profile_cost_their_iterations) {
  ASSERT_NO_FATAL_FAILURE(write(false));
  const std::size_t section = good_file.find(all_frames());
  ASSERT_NE(section, good_file.npos);
  for (const std::size_t frame : {std::size_t{0}, frames.size() / 2, frames.size() - 1})
    for (const std::size_t at : bytes_of_frame(frames[frame]))
      for (const int bit : {0, 7}) {
        SCOPED_TRACE("frame " + std::to_string(frame) + ", byte " + std::to_string(at) + ", bit " +
                     std::to_string(bit));
        write_file(profile, flipped(good_file, section + offset_of_frame(frame) + at, bit));
        expect_gap({frame}, profile);
      }
}

TEST_F(DamagedFrames, in_a_file_of_the_rank_cost_their_iterations) {
  ASSERT_NO_FATAL_FAILURE(write(true));
  const std::string all = all_frames();
  for (const std::size_t frame : {std::size_t{0}, frames.size() / 2, frames.size() - 1})
    for (const std::size_t at : bytes_of_frame(frames[frame])) {
      SCOPED_TRACE("frame " + std::to_string(frame) + ", byte " + std::to_string(at));
      write_file(spill_name, flipped(all, offset_of_frame(frame) + at));
      expect_gap({frame}, spill_name);
    }
}

TEST_F(DamagedFrames, several_of_them_are_several_gaps) {
  ASSERT_NO_FATAL_FAILURE(write(true));
  std::string bytes = all_frames();
  for (const std::size_t frame : {0, 2, 3}) bytes[offset_of_frame(frame) + head + 2] ^= 1;
  bytes[offset_of_frame(2)] ^= 1;
  write_file(spill_name, bytes);
  expect_gap({0, 2, 3}, spill_name);
}

TEST_F(DamagedFrames, a_file_of_the_rank_that_is_not_all_there_costs_what_is_missing) {
  ASSERT_NO_FATAL_FAILURE(write(true));
  const std::string all = all_frames();
  std::set<std::size_t> every;
  for (std::size_t frame = 0; frame < frames.size(); ++frame) every.insert(frame);
  std::filesystem::remove(spill_name);
  expect_gap(every, spill_name);
  write_file(spill_name, "");
  expect_gap(every, spill_name);
  write_file(spill_name, std::string(all.size(), '\0'));  // as some file systems leave it after a crash
  expect_gap(every, spill_name);
  every.erase(0);
  every.erase(1);
  write_file(spill_name, all.substr(0, offset_of_frame(2)));
  expect_gap(every, spill_name);
  write_file(spill_name, all.substr(0, offset_of_frame(2) + frames[2].size() / 2));
  expect_gap(every, spill_name);
  write_file(spill_name, all.substr(0, offset_of_frame(2)) + std::string(all.size() - offset_of_frame(2), '\0'));
  expect_gap(every, spill_name);
}

/// Everything that a user can ask for.
void read_all(const Experiment& experiment) {
  for (std::size_t rank_index = 0; rank_index < experiment.ranks().size(); ++rank_index)
    for (const Depth depth : {Depth::Run, Depth::Loops, Depth::Whole})
      if (const auto rank = experiment.rank(rank_index, depth))
        for (const auto& location : rank->locations) {
          (void)run::totals_of(location.units, *rank, location, experiment.definitions().paths);
          for (const auto& loop : location.loops) {
            run::for_each_iteration(loop, [](auto, auto, auto) {});
            (void)experiment::read_samples(*rank, loop);
          }
        }
}

TEST(LocalDamageOfASmallFile, no_flipped_bit_goes_unnoticed) {
  ScratchDirectory directory;
  SampleRank sample = sample_rank(0, 1, 1, 4);
  sample.add_loop(0, "timestep", 2, 9);
  sample.add_samples_and_slopes(0);
  sample.add_communicator({1, 0, 3, 0, 0, 1, 0, "", {}, 70}, {0});
  sample.add_window({1, format::WindowKind::Shared, "halo", 9}, {{0, 0, 1, 20, 300, 4000}});
  ASSERT_TRUE(record::write_profile(sample.record(), {}, directory.c_str(), 0).written);
  const std::string good = read_file(directory.path + "/profile.refrain");
  std::size_t accepted = 0, refused = 0;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    const std::string bytes = flipped(good, bit / 8, static_cast<int>(bit % 8));
    try {
      const auto experiment = Experiment::of_file("f", std::as_bytes(std::span(bytes)));
      read_all(*experiment);
      ASSERT_GE(experiment->damages(), 1u) << "bit " << bit << " of byte " << bit / 8;
      for (const std::string& line : experiment->damage()) {
        ASSERT_EQ(line.rfind("f: at byte ", 0), 0u) << line;
        ASSERT_EQ(line.find('\n'), line.npos) << line;
      }
      ++accepted;
    } catch (const experiment::ReadError& error) {
      ASSERT_EQ(std::string(error.what()).rfind("f: at byte ", 0), 0u) << "bit " << bit << ": " << error.what();
      ++refused;
    }
  }
  EXPECT_GT(accepted, refused) << "damage is local";
}

}  // namespace
}  // namespace refrain::testing

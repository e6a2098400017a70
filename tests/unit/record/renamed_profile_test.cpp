// Profile files of every version of the format, with names replaced.
#include "offline/experiment/renamed_profile.hpp"

#include <gtest/gtest.h>
#include <set>

#include "format/bytes.hpp"
#include "format/profile_file.hpp"
#include "offline/experiment/experiment.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/whole_experiment.hpp"

namespace refrain::experiment {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> golden_profiles() {
  std::set<fs::path> found;
  for (const auto& entry : fs::directory_iterator(GOLDEN))
    if (fs::exists(entry.path() / "profile.refrain")) found.insert(entry.path() / "profile.refrain");
  return {found.begin(), found.end()};
}

/// The contents of the profile with these names instead of its own.
Profile renamed(const fs::path& path, const Rename& rename) {
  const testing::ScratchDirectory scratch;
  const fs::path made = fs::path(scratch.path) / "profile.refrain";
  write_renamed(path, rename, made);
  return parse_profile(InputFile(made));
}

void expect_same_numbers(const Profile& a, const Profile& b) {
  ASSERT_EQ(a.paths.size(), b.paths.size());
  for (std::size_t i = 0; i < a.paths.size(); ++i) {
    EXPECT_EQ(a.paths[i].parent, b.paths[i].parent);
    EXPECT_EQ(a.paths[i].kind, b.paths[i].kind);
    EXPECT_EQ(a.paths[i].module, b.paths[i].module);
    EXPECT_EQ(a.paths[i].offset, b.paths[i].offset);
  }
  EXPECT_EQ(a.complete, b.complete);
  ASSERT_EQ(a.ranks.size(), b.ranks.size());
  for (std::size_t r = 0; r < a.ranks.size(); ++r) {
    EXPECT_EQ(a.ranks[r].rank, b.ranks[r].rank);
    EXPECT_EQ(a.ranks[r].process_id, b.ranks[r].process_id);
    EXPECT_EQ(a.ranks[r].communicators.size(), b.ranks[r].communicators.size());
    EXPECT_EQ(a.ranks[r].windows.size(), b.ranks[r].windows.size());
    EXPECT_EQ(a.ranks[r].events.has_value(), b.ranks[r].events.has_value());
    ASSERT_EQ(a.ranks[r].locations.size(), b.ranks[r].locations.size());
    for (std::size_t l = 0; l < a.ranks[r].locations.size(); ++l) {
      const Location &x = a.ranks[r].locations[l], &y = b.ranks[r].locations[l];
      EXPECT_EQ(x.begin, y.begin);
      EXPECT_EQ(x.end, y.end);
      EXPECT_EQ(x.losses, y.losses);
      ASSERT_EQ(x.units.size(), y.units.size());
      for (std::size_t u = 0; u < x.units.size(); ++u) EXPECT_EQ(x.units[u].columns, y.units[u].columns);
      ASSERT_EQ(x.loops.size(), y.loops.size());
      for (std::size_t i = 0; i < x.loops.size(); ++i) {
        EXPECT_EQ(x.loops[i].iterations, y.loops[i].iterations);
        EXPECT_EQ(x.loops[i].log.size(), y.loops[i].log.size());
      }
    }
  }
}

TEST(RenamedProfile, the_same_names_give_the_same_profile) {
  for (const fs::path& path : golden_profiles()) {
    SCOPED_TRACE(path);
    const Profile before = parse_profile(InputFile(path)),
                  after = renamed(path, [](NameKind, std::string_view name) { return std::string(name); });
    expect_same_numbers(before, after);
    EXPECT_EQ(before.regions, after.regions);
    EXPECT_EQ(before.version, after.version);
  }
}

TEST(RenamedProfile, other_names_change_no_number) {
  // Longer and shorter names.
  const auto other = [](NameKind kind, std::string_view name) {
    if (kind == NameKind::BuildId) return std::string(name.size(), 'B');
    // Metrics of iterations belong to the format, too, and are recognised by their names.
    const bool is_asked_for = name.starts_with("ru_") || name.starts_with("perf::") || name.starts_with("PAPI_");
    if (kind == NameKind::Metric) return (is_asked_for ? "another " : "") + std::string(name);
    return name.size() % 2 == 0 ? "another " + std::string(name) : std::string("x");
  };
  const auto other_than = [&](NameKind kind, const std::string& name) { return other(kind, name); };
  for (const fs::path& path : golden_profiles()) {
    SCOPED_TRACE(path);
    const Profile before = parse_profile(InputFile(path)), after = renamed(path, other);
    expect_same_numbers(before, after);
    ASSERT_EQ(before.regions.size(), after.regions.size());
    for (std::size_t i = 0; i < before.regions.size(); ++i)
      EXPECT_EQ(after.regions[i], other_than(NameKind::Region, before.regions[i]));
    ASSERT_EQ(before.modules.size(), after.modules.size());
    for (std::size_t i = 0; i < before.modules.size(); ++i)
      EXPECT_EQ(after.modules[i].path, other_than(NameKind::Module, before.modules[i].path));
    for (std::size_t r = 0; r < before.ranks.size(); ++r) {
      const Rank &x = before.ranks[r], &y = after.ranks[r];
      EXPECT_EQ(y.host, other_than(NameKind::Host, x.host));
      ASSERT_EQ(x.extra_metrics.size(), y.extra_metrics.size());
      for (std::size_t m = 0; m < x.extra_metrics.size(); ++m)
        EXPECT_EQ(y.extra_metrics[m].name, other_than(NameKind::Metric, x.extra_metrics[m].name));
      for (std::size_t c = 0; c < x.communicators.size(); ++c)
        EXPECT_EQ(y.communicators[c].name, other_than(NameKind::Communicator, x.communicators[c].name));
      for (std::size_t w = 0; w < x.windows.size(); ++w)
        EXPECT_EQ(y.windows[w].name, other_than(NameKind::Window, x.windows[w].name));
      for (std::size_t l = 0; l < x.locations.size(); ++l) {
        EXPECT_EQ(y.locations[l].name, other_than(NameKind::Thread, x.locations[l].name));
        for (std::size_t i = 0; i < x.locations[l].loops.size(); ++i)
          EXPECT_EQ(y.locations[l].loops[i].name, other_than(NameKind::Region, x.locations[l].loops[i].name));
      }
      for (std::size_t i = 0; x.events && i < x.events->regions.size(); ++i)
        EXPECT_EQ(y.events->regions[i], other_than(NameKind::Region, x.events->regions[i]));
    }
  }
}

TEST(RenamedProfile, a_damaged_one_is_refused) {
  const testing::ScratchDirectory scratch;
  const fs::path damaged = fs::path(scratch.path) / "damaged", made = fs::path(scratch.path) / "made";
  std::string bytes = testing::read_file(std::string(GOLDEN) + "/profile-1.10/profile.refrain");
  constexpr std::size_t offset_of_first_rank = format::header_size + 8, in_its_table = 9;
  const auto block =
      format::load_little_endian<std::uint64_t>(reinterpret_cast<const std::byte*>(&bytes[offset_of_first_rank]));
  bytes[block + in_its_table] = static_cast<char>(bytes[block + in_its_table] ^ 16);
  testing::write_file(damaged, bytes);
  EXPECT_THROW(write_renamed(
                   damaged, [](NameKind, std::string_view) { return std::string(); }, made),
               ReadError);
}

}  // namespace
}  // namespace refrain::experiment

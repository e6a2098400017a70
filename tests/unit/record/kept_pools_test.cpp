// The division of the time of iterations is kept in the experiment, and reports of an iteration stay the same.
#include "offline/experiment/kept_pools.hpp"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>

#include "offline/experiment/experiment.hpp"
#include "offline/experiment/packed.hpp"
#include "offline/experiment/tar_file.hpp"
#include "offline/run/iteration_profile.hpp"
#include "offline/run/iterations.hpp"
#include "offline/run/loop_pools.hpp"
#include "tests/unit/record/golden_copy.hpp"

namespace refrain::experiment {
namespace {

namespace fs = std::filesystem;
using refrain::testing::GoldenCopy;
using refrain::testing::read_file;
using refrain::testing::write_file;

class KeptPoolsTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Experiment> open() const { return Experiment::open(scratch_.path); }
  std::string file() const { return scratch_.path + "/pools-1.refrain"; }

  /// Everything that reports show of all iterations, and how their time is divided.
  static std::vector<std::string> said(const Experiment& experiment) {
    std::vector<std::string> all;
    for (std::size_t place = 0; place < experiment.ranks().size(); ++place) {
      const auto rank = experiment.rank(place, Depth::Whole);
      for (const Location& location : rank->locations)
        for (std::size_t loop = 0; loop < location.loops.size(); ++loop) {
          const run::IterationProfiles profiles(experiment.definitions(), *rank, location, loop);
          run::for_each_iteration(location.loops[loop], [&](std::int64_t i, std::int32_t cluster, auto row) {
            const Unit unit = profiles.unit_of(i, cluster, row);
            Packer packer;
            packer(unit.weight_user_ns, unit.weight_mpi_ns, unit.weight_user_squared, unit.columns);
            for (const PathValues& of : unit.values) packer(of.path, of.first);
            all.push_back(packer.bytes());
          });
          all.push_back(profiles.shares().packed());
        }
    }
    return all;
  }

  GoldenCopy scratch_{"profile-1.10"};
};

TEST_F(KeptPoolsTest, say_the_same_as_those_that_are_found) {
  const auto before = said(*open());
  ASSERT_GT(before.size(), 150U);
  EXPECT_FALSE(fs::exists(file())) << "nothing was asked for";
  const auto experiment = open();
  keep_pools(*experiment, run::Asked::No);
  EXPECT_TRUE(fs::exists(file()));
  EXPECT_EQ(before, said(*experiment));
  const auto again = open();
  ASSERT_TRUE(again->pools());
  EXPECT_EQ(again->rank(0, Depth::Whole)->pools, again->pools());
  EXPECT_TRUE(again->pools()->of({0, 0, 0}));
  EXPECT_FALSE(again->pools()->of({0, 0, 1000}));
  EXPECT_EQ(before, said(*again));
  EXPECT_EQ(again->damages(), 0U);
  const std::string bytes = read_file(file());
  keep_pools(*again, run::Asked::Yes);
  EXPECT_EQ(bytes, read_file(file())) << "it never changes";
}

TEST_F(KeptPoolsTest, that_are_damaged_are_found_again) {
  const auto before = said(*open());
  keep_pools(*open(), run::Asked::Yes);
  const std::string good = read_file(file());
  const std::size_t step = std::max<std::size_t>(good.size() / 40, 1);
  for (std::size_t at = 0; at < good.size(); at += at < 64 ? 7 : step) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 16);
    write_file(file(), bad);
    const auto opened = open();
    EXPECT_EQ(before, said(*opened)) << at;
    EXPECT_EQ(opened->damages(), 1U) << at;
  }
  write_file(file(), good.substr(0, good.size() - 1));
  keep_pools(*open(), run::Asked::Yes);
  EXPECT_EQ(good, read_file(file())) << "and replaced";
}

TEST_F(KeptPoolsTest, of_another_experiment_are_not_taken) {
  keep_pools(*open(), run::Asked::Yes);
  const GoldenCopy other("profile-1.9");
  const auto before = said(*Experiment::open(other.path));
  fs::copy(file(), other.path);
  const auto opened = Experiment::open(other.path);
  EXPECT_FALSE(opened->pools());
  EXPECT_EQ(before, said(*opened));
  EXPECT_EQ(opened->damages(), 1U);
}

TEST_F(KeptPoolsTest, are_in_memory_where_nothing_can_be_written) {
  std::string tar;
  for (const char* name : {"manifest.json", "profile.refrain"}) {
    const std::string contents = read_file(scratch_.path + "/" + name);
    tar += tar_head(std::string("exp/") + name, contents.size()) + contents + tar_padding(contents.size());
  }
  const std::string packed = scratch_.path + "/exp.tar";
  write_file(packed, tar + tar_end());
  const auto experiment = Experiment::open(packed);
  const auto before = said(*experiment);
  keep_pools(*experiment, run::Asked::Yes);
  ASSERT_TRUE(experiment->pools());
  EXPECT_TRUE(experiment->pools()->of({0, 0, 0}));
  EXPECT_EQ(before, said(*experiment));
  EXPECT_EQ(experiment->damages(), 0U);
}

TEST_F(KeptPoolsTest, of_a_program_that_runs_there_are_none) {
  const std::string manifest = scratch_.path + "/manifest.json", state = "\"incomplete\"";
  std::string text = read_file(manifest);
  ASSERT_NE(text.find(state), text.npos);
  write_file(manifest, text.replace(text.find(state), state.size(), "\"running\""));
  const auto experiment = open();
  keep_pools(*experiment, run::Asked::Yes);
  EXPECT_FALSE(experiment->pools());
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(KeptPoolsTest, of_other_rules_or_damaged_go) {
  const auto experiment = open();
  keep_pools(*experiment, run::Asked::Yes);
  write_file(scratch_.path + "/pools-0.refrain", "old");
  forget_old_pools(*experiment);
  EXPECT_FALSE(fs::exists(scratch_.path + "/pools-0.refrain"));
  const std::string good = read_file(file());
  std::string bad = good;
  bad.back() = static_cast<char>(bad.back() ^ 1);
  write_file(file(), bad);
  forget_old_pools(*experiment);
  EXPECT_FALSE(fs::exists(file())) << "what is damaged goes, too";
  keep_pools(*experiment, run::Asked::Yes);
  EXPECT_EQ(good, read_file(file()));
  EXPECT_EQ(experiment->damages(), 0U);
}

}  // namespace
}  // namespace refrain::experiment

// Names and claims of the experiment directory.

#include "record/experiment_directory.hpp"

#include <filesystem>
#include <fnmatch.h>
#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

#include "offline/experiment/experiment.hpp"
#include "record/calendar.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/whole_experiment.hpp"

namespace refrain::testing {
namespace {

namespace fs = std::filesystem;
using record::ExperimentDirectory;
using record::make_experiment_directory;

constexpr std::int64_t leap_day = 1'709'251'199'000'000'000;  // 2024-02-29T23:59:59Z

TEST(Calendar, agrees_with_the_c_library) {
  for (std::int64_t seconds = 0; seconds < 250'000'000'000; seconds += 86'399 * 7 + 4'444'444) {
    const time_t at = seconds;
    tm truth{};
    gmtime_r(&at, &truth);
    if (seconds > 9'000'000'000) break;  // nanoseconds end in 2262
    const auto t = record::civil_time(seconds * 1'000'000'000);
    ASSERT_EQ(t.year, truth.tm_year + 1900);
    ASSERT_EQ(t.month, truth.tm_mon + 1);
    ASSERT_EQ(t.day, truth.tm_mday);
    ASSERT_EQ(t.hour, truth.tm_hour);
    ASSERT_EQ(t.minute, truth.tm_min);
    ASSERT_EQ(t.second, truth.tm_sec);
  }
}

class InScratch : public ::testing::Test {
 protected:
  InScratch() : old_(fs::current_path()) { fs::current_path(scratch.path); }
  ~InScratch() override { fs::current_path(old_); }
  ScratchDirectory scratch;
  fs::path old_;
};

TEST_F(InScratch, a_name_is_made_of_program_ranks_and_time) {
  ExperimentDirectory out;
  ASSERT_TRUE(make_experiment_directory("", "/opt/bin/my app\n", 16, leap_day, out)) << out.line;
  EXPECT_STREQ(out.line, "");
  EXPECT_EQ(fnmatch("*/refrain-my_app_-16-20240229-235959-??????", out.path, 0), 0) << out.path;
  EXPECT_EQ(fs::path(out.path).parent_path(), fs::canonical(scratch.path));
  EXPECT_TRUE(fs::is_directory(out.path));
}

TEST_F(InScratch, ten_names_made_in_one_second_differ) {
  std::set<std::string> names;
  for (int i = 0; i < 10; ++i) {
    ExperimentDirectory out;
    ASSERT_TRUE(make_experiment_directory("", "a", 1, leap_day, out));
    names.insert(out.path);
  }
  EXPECT_EQ(names.size(), 10u);
}

TEST_F(InScratch, a_configured_path_is_taken_with_its_missing_parents) {
  ExperimentDirectory out;
  ASSERT_TRUE(make_experiment_directory("deep/er/exp/", "a", 1, leap_day, out)) << out.line;
  EXPECT_EQ(out.path, (fs::canonical(scratch.path) / "deep/er/exp").string());
  EXPECT_STREQ(out.line, "");
  EXPECT_TRUE(fs::exists("deep/er/exp/manifest.json"));
  fs::create_directory("empty");
  ASSERT_TRUE(make_experiment_directory((scratch.path + "/empty").c_str(), "a", 1, leap_day, out));
  EXPECT_EQ(out.path, scratch.path + "/empty") << "an empty directory is used as it is";
}

TEST_F(InScratch, what_exists_is_left_alone_and_said) {
  fs::create_directory("exp");
  write_file("exp/mine", "precious");
  write_file("exp.1", "a file");
  ExperimentDirectory out;
  ASSERT_TRUE(make_experiment_directory("exp", "a", 1, leap_day, out));
  const std::string base = fs::canonical(scratch.path).string();
  EXPECT_EQ(out.path, base + "/exp.2");
  EXPECT_EQ(out.line, "'" + base + "/exp' exists and is not an empty directory: writing to '" + base + "/exp.2'");
  EXPECT_EQ(read_file("exp/mine"), "precious");
  EXPECT_EQ(read_file("exp.1"), "a file");
}

TEST_F(InScratch, impossible_places_are_named_with_the_reason) {
  write_file("file", "");
  ExperimentDirectory out;
  EXPECT_FALSE(make_experiment_directory("file/below", "a", 1, leap_day, out));
  EXPECT_NE(std::string(out.line).find("cannot be made: Not a directory"), std::string::npos) << out.line;
  EXPECT_FALSE(make_experiment_directory("/proc/exp", "a", 1, leap_day, out));
  EXPECT_EQ(std::string(out.line), "the experiment directory '/proc/exp' cannot be made: No such file or directory");
  EXPECT_FALSE(make_experiment_directory(std::string(300, 'x').c_str(), "a", 1, leap_day, out));
  EXPECT_NE(std::string(out.line).find("File name too long"), std::string::npos) << out.line;
  EXPECT_FALSE(make_experiment_directory(std::string(5000, 'x').c_str(), "a", 1, leap_day, out));
}

TEST_F(InScratch, jobs_that_race_for_one_name_get_one_each) {
  for (int round = 0; round < 20; ++round) {
    const std::string name = "exp" + std::to_string(round);
    if (round % 2) fs::create_directory(name);
    std::vector<pid_t> children;
    for (int i = 0; i < 8; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        ExperimentDirectory out;
        if (!make_experiment_directory(name.c_str(), "a", 1, leap_day, out)) _exit(1);
        write_file(std::string(out.path) + "/owner-" + std::to_string(i), "");
        _exit(0);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 1;
      waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
    int directories = 0;
    for (const auto& entry : fs::directory_iterator("."))
      if (entry.path().filename().string().starts_with(name + ".") || entry.path().filename() == name) {
        ++directories;
        EXPECT_EQ(std::distance(fs::directory_iterator(entry), fs::directory_iterator()), 2)
            << "manifest and one owner";
      }
    EXPECT_EQ(directories, 8);
  }
}

TEST_F(InScratch, a_directory_just_made_reads_as_a_running_experiment_without_data) {
  ExperimentDirectory out;
  ASSERT_TRUE(make_experiment_directory("exp", "a", 1, leap_day, out));
  try {
    experiment::read_experiment(out.path);
    FAIL();
  } catch (const experiment::ReadError& error) {
    EXPECT_EQ(error.what(),
              std::string(out.path) + ": holds no profile: the program still runs, or ended before it could write");
  }
}

}  // namespace
}  // namespace refrain::testing

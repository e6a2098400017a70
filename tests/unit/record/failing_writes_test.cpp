// Full disks, limits and missing directories: the process prints one line and lives on.

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "offline/experiment/experiment.hpp"
#include "record/experiment_directory.hpp"
#include "record/manifest.hpp"
#include "record/output_file.hpp"
#include "record/writer.hpp"
#include "tests/unit/record/sample_job.hpp"
#include "tests/unit/record/thread_peers.hpp"
#include "tests/unit/record/whole_experiment.hpp"

namespace refrain::testing {
namespace {

namespace fs = std::filesystem;

/// Runs `body` in a process of its own. Returns its wait status; 0 if `body` returned true.
int in_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

void limit_file_size(rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

bool contains(const char* text, const char* part) { return std::string(text).find(part) != std::string::npos; }

class FileWrittenOnce : public ::testing::Test {
 protected:
  int write(const std::string& text) {
    return record::write_whole(directory_.c_str(), "f", O_EXCL, {std::as_bytes(std::span(text))});
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& file : fs::directory_iterator(directory_.path)) names.insert(file.path().filename());
    return names;
  }
  ScratchDirectory directory_;
};

TEST_F(FileWrittenOnce, has_its_name_when_it_is_complete) {
  EXPECT_EQ(write("first"), 0);
  EXPECT_EQ(write("second"), EEXIST);
  EXPECT_EQ(files(), std::set<std::string>{"f"});
  EXPECT_EQ(read_file(directory_.path + "/f"), "first");
}

TEST_F(FileWrittenOnce, is_left_to_the_process_that_writes_it_which_may_have_been_killed) {
  write_file(directory_.path + "/f.new", "");
  EXPECT_EQ(write("all"), EEXIST);
  EXPECT_EQ(files(), std::set<std::string>{"f.new"});
}

TEST_F(FileWrittenOnce, leaves_nothing_when_the_disk_is_full) {
  EXPECT_EQ(in_child([&] {
              const record::FileSizeSignalBlocker no_signal;
              limit_file_size(10);
              return write(std::string(100'000, 'x')) == EFBIG;
            }),
            0);
  EXPECT_EQ(files(), std::set<std::string>{});
}

TEST(FileSizeLimit, kills_a_program_without_us_so_that_the_tests_below_mean_something) {
  ScratchDirectory directory;
  const int status = in_child([&] {
    limit_file_size(10);
    write_file(directory.path + "/f", std::string(100'000, 'x'));
    return true;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGXFSZ);
}

TEST(FileSizeLimit, is_one_line_at_every_limit) {
  ScratchDirectory directory;
  int failures = 0;
  for (rlim_t limit = 0; limit < 20'000; limit = limit * 3 / 2 + 7) {
    const std::string where = directory.path + "/" + std::to_string(limit);
    fs::create_directory(where);
    const int status = in_child([&] {
      limit_file_size(limit);
      SampleRank sample = sample_rank(0, 1, 1, 100);
      const auto outcome = record::write_profile(sample.record(), {}, where.c_str(), 0);
      sigset_t pending;
      sigpending(&pending);
      if (sigismember(&pending, SIGXFSZ)) return false;
      if (outcome.written) return outcome.line[0] == '\0';
      return contains(outcome.line, "cannot be written") && contains(outcome.line, "File too large") &&
             !fs::exists(where + "/profile.refrain");
    });
    EXPECT_EQ(status, 0) << limit;
    failures += !fs::exists(where + "/profile.refrain");
  }
  EXPECT_GT(failures, 5);
  EXPECT_LT(failures, 20);
}

TEST(FileSizeLimit, still_works_for_the_program_afterwards) {
  ScratchDirectory directory;
  const int status = in_child([&] {
    limit_file_size(10);
    SampleRank sample = sample_rank(0, 1, 1, 10);
    (void)record::write_profile(sample.record(), {}, directory.c_str(), 0);
    write_file(directory.path + "/f", std::string(100'000, 'x'));
    return true;
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
}

TEST(FileSizeLimit, leaves_a_signal_that_the_program_had_pending) {
  ScratchDirectory directory;
  const int status = in_child([&] {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    raise(SIGXFSZ);
    limit_file_size(10);
    SampleRank sample = sample_rank(0, 1, 1, 10);
    (void)record::write_profile(sample.record(), {}, directory.c_str(), 0);
    sigpending(&set);
    return sigismember(&set, SIGXFSZ) == 1;
  });
  EXPECT_EQ(status, 0);
}

TEST(FileSizeLimit, of_the_manifest_and_of_the_first_claim) {
  ScratchDirectory directory;
  put_manifest(directory.path, 5);
  const std::string before = read_file(directory.path + "/manifest.json");
  const int status = in_child([&] {
    limit_file_size(10);
    char line[256];
    record::ExperimentDirectory made;
    return !record::write_manifest(directory.c_str(), {}, line, sizeof line) && contains(line, "File too large") &&
           !record::make_experiment_directory((directory.path + "/x").c_str(), "a", 1, 1, made) &&
           contains(made.line, "File too large");
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(directory.path + "/manifest.json"), before);
}

TEST(ClosedStandardStreams, never_become_our_files) {
  ScratchDirectory directory;
  const int status = in_child([&] {
    for (const int fd : {0, 1, 2}) close(fd);
    SampleRank sample = sample_rank(0, 1, 1, 10);
    const bool written = record::write_profile(sample.record(), {}, directory.c_str(), 0).written;
    return written && write(1, "x", 1) < 0 && open("/dev/null", O_RDONLY) == 0;
  });
  EXPECT_EQ(status, 0);
}

/// A file system of `kilobytes`; nothing without the right to mount.
class SmallDisk {
 public:
  explicit SmallDisk(int kilobytes) {
    const std::string options = "size=" + std::to_string(kilobytes) + "k";
    mounted = mount("none", directory.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted) umount2(directory.c_str(), MNT_DETACH);
  }
  void make_read_only() { mount("none", directory.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr); }
  ScratchDirectory directory;
  bool mounted;
};

TEST(FullDisk, of_one_process_is_one_line_and_no_rest) {
  SmallDisk disk(4);
  if (!disk.mounted) GTEST_SKIP() << "needs the right to mount a small file system";
  SampleRank sample = sample_rank(0, 1, 2, 3000);
  const auto outcome = record::write_profile(sample.record(), {}, disk.directory.c_str(), 0);
  EXPECT_FALSE(outcome.written);
  EXPECT_EQ(std::string(outcome.line),
            "the profile of rank 0 cannot be written to '" + disk.directory.path + "': No space left on device");
  EXPECT_TRUE(fs::is_empty(disk.directory.path));
}

TEST(FullDisk, of_a_job_is_one_line_and_what_fitted_can_be_read) {
  int some_lost = 0, all_kept = 0;
  for (int kilobytes = 4; kilobytes <= 512; kilobytes = kilobytes * 3 / 2) {
    SmallDisk disk(kilobytes);
    if (!disk.mounted) GTEST_SKIP() << "needs the right to mount a small file system";
    ThreadJob job(8);
    std::vector<record::WriteOutcome> outcomes(8);
    job.run([&](int rank) {
      SampleRank sample = sample_rank(rank, 8, 2, 400);
      outcomes[static_cast<std::size_t>(rank)] =
          record::write_profile(sample.record(), job.peers(rank), disk.directory.c_str(), seconds_from_now(60));
    });
    std::size_t written = 0;
    for (std::size_t rank = 0; rank < 8; ++rank) {
      written += outcomes[rank].written;
      if (rank > 0) {
        EXPECT_STREQ(outcomes[rank].line, "");
      }
    }
    EXPECT_EQ(outcomes[0].complete, outcomes[0].line[0] == '\0');
    if (!outcomes[0].complete) {
      EXPECT_TRUE(contains(outcomes[0].line, "No space left on device")) << outcomes[0].line;
    }
    some_lost += written > 0 && written < 8;
    all_kept += written == 8;

    ScratchDirectory copy;
    put_manifest(copy.path, 8);
    for (const auto& entry : fs::directory_iterator(disk.directory.path))
      fs::copy_file(entry, copy.path + "/" + entry.path().filename().string());
    if (written == 0) continue;
    const experiment::Profile profile = experiment::read_experiment(copy.path).profile;
    EXPECT_EQ(profile.ranks.size(), written);
    EXPECT_EQ(profile.complete, outcomes[0].complete);
    for (const experiment::Rank& rank : profile.ranks)
      EXPECT_EQ(values_of(profile, rank.locations[1].units[0]), with_values(sample_tree(rank.rank, 1, 400)));
  }
  EXPECT_GT(some_lost, 0);
  EXPECT_GT(all_kept, 0);
}

TEST(ReadOnlyDisk, is_one_line) {
  SmallDisk disk(64);
  if (!disk.mounted) GTEST_SKIP() << "needs the right to mount a small file system";
  disk.make_read_only();
  SampleRank sample = sample_rank(0, 1, 1, 10);
  const auto outcome = record::write_profile(sample.record(), {}, disk.directory.c_str(), 0);
  EXPECT_FALSE(outcome.written);
  EXPECT_TRUE(contains(outcome.line, "Read-only file system")) << outcome.line;
  record::ExperimentDirectory made;
  EXPECT_FALSE(record::make_experiment_directory((disk.directory.path + "/x").c_str(), "a", 1, 1, made));
  EXPECT_TRUE(contains(made.line, "Read-only file system")) << made.line;
}

}  // namespace
}  // namespace refrain::testing

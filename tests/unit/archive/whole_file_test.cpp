// Files that tools keep in an experiment are replaced as a whole: their data is on the disk before they have the name.
#include "offline/experiment/whole_file.hpp"

#include <cerrno>
#include <filesystem>
#include <gtest/gtest.h>
#include <iterator>
#include <span>
#include <string>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "tests/unit/archive/sample_job.hpp"

namespace {

std::string watched;      // a file
std::string when_synced;  // what it had when another one was put on the disk
int syncs = 0, error_of_sync = 0;

}  // namespace

/// Takes the place of that of the C library.
extern "C" int fsync(int file) {
  ++syncs;
  when_synced = watched.empty() ? "" : refrain::testing::read_file(watched);
  if (error_of_sync == 0) return static_cast<int>(syscall(SYS_fsync, file));
  errno = error_of_sync;
  return -1;
}

namespace refrain::experiment {
namespace {

namespace fs = std::filesystem;
using refrain::testing::read_file;
using refrain::testing::ScratchDirectory;
using refrain::testing::write_file;

class WholeFile : public ::testing::Test {
 protected:
  WholeFile() : path_(scratch_.path + "/kept") {
    write_file(path_, "old");
    watched = path_;
    syncs = 0;
  }
  ~WholeFile() override {
    watched.clear();
    error_of_sync = 0;
  }
  void write(const std::string& text) const { write_whole_file(path_, std::as_bytes(std::span(text))); }
  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(scratch_.path), fs::directory_iterator());
  }

  ScratchDirectory scratch_;
  std::string path_;
};

TEST_F(WholeFile, is_on_the_disk_before_it_takes_the_place_of_the_old_one) {
  write("new");
  EXPECT_EQ(syncs, 1);
  EXPECT_EQ(when_synced, "old");
  EXPECT_EQ(read_file(path_), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFile, leaves_the_old_one_on_a_disk_that_is_full) {
  error_of_sync = ENOSPC;
  try {
    write("new");
    ADD_FAILURE() << "no error";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), ENOSPC);
  }
  EXPECT_EQ(read_file(path_), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFile, is_written_where_nothing_can_be_put_on_a_disk) {
  error_of_sync = EINVAL;
  write("new");
  EXPECT_EQ(read_file(path_), "new");
}

}  // namespace
}  // namespace refrain::experiment

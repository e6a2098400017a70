// Files that tools keep in an experiment are replaced as a whole: their data is on the disk before they get their name.
#include "offline/experiment/whole_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "tests/unit/record/sample_job.hpp"

namespace {

std::string watched;      // a file
std::string when_synced;  // its contents when another file was synced
int syncs = 0, error_of_sync = 0;

}  // namespace

/// Replaces that of the C library.
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

void write_new(const fs::path& path, std::string_view text) {
  NewFile file(path);
  file.write(text);
  file.finish();
}

TEST_F(WholeFile, a_pipe_gets_the_bytes_and_stays_a_pipe) {
  const std::string pipe = scratch_.path + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK);  // so that neither end waits for the other
  ASSERT_GE(reader, 0);
  write_new(pipe, "bytes");
  char read[16] = {};
  EXPECT_EQ(::read(reader, read, sizeof read), 5);
  EXPECT_STREQ(read, "bytes");
  ::close(reader);
  struct stat about {};
  ASSERT_EQ(::stat(pipe.c_str(), &about), 0);
  EXPECT_TRUE(S_ISFIFO(about.st_mode));
  EXPECT_EQ(about.st_mode & 0777, 0600u) << "its permissions are its owner's";
  EXPECT_EQ(files(), 2) << "no file beside it";
}

TEST_F(WholeFile, the_file_behind_a_link_is_replaced_and_the_link_stays) {
  fs::create_directory(scratch_.path + "/below");
  for (const auto& [name, target] :
       {std::pair("/link", "kept"), {"/below/link", "../kept"}, {"/chain", "below/link"}}) {
    const std::string link = scratch_.path + name;
    fs::create_symlink(target, link);
    write_new(link, name);
    EXPECT_TRUE(fs::is_symlink(link)) << name;
    EXPECT_FALSE(fs::is_symlink(path_)) << name;
    EXPECT_EQ(read_file(path_), name);
  }
  const std::string dangling = scratch_.path + "/dangling";
  fs::create_symlink("made", dangling);
  write_new(dangling, "new");
  EXPECT_TRUE(fs::is_symlink(dangling));
  EXPECT_EQ(read_file(scratch_.path + "/made"), "new");
}

TEST_F(WholeFile, no_directory_is_replaced) {
  fs::create_directory(scratch_.path + "/directory");
  EXPECT_THROW(NewFile(scratch_.path + "/directory"), std::system_error);
  EXPECT_TRUE(fs::is_directory(scratch_.path + "/directory"));
}

}  // namespace
}  // namespace refrain::experiment

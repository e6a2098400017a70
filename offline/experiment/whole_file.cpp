#include "offline/experiment/whole_file.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace refrain::experiment {
namespace {

/// While an object lives, exceeding the limit of file sizes (RLIMIT_FSIZE) is an error of write(2), not a signal that
/// ends the program.
class WithoutSizeSignal {
 public:
  WithoutSizeSignal() {
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &ignored, &before_);
  }
  ~WithoutSizeSignal() { sigaction(SIGXFSZ, &before_, nullptr); }
  WithoutSizeSignal(const WithoutSizeSignal&) = delete;
  WithoutSizeSignal& operator=(const WithoutSizeSignal&) = delete;

 private:
  struct sigaction before_;
};

/// The type of the file behind any links. Nothing: there is no such file, or its type cannot be determined.
std::optional<mode_t> kind_of_file(const std::filesystem::path& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return std::nullopt;
  return about.st_mode & S_IFMT;
}

/// The file that a chain of links leads to, which need not exist.
std::filesystem::path behind_links(std::filesystem::path path) {
  constexpr int longest_chain = 40;
  std::error_code error;
  for (int i = 0; i < longest_chain && std::filesystem::is_symlink(path, error); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;
  }
  return path;
}

}  // namespace

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

NewFile::NewFile(std::filesystem::path path, const char* ending) : path_(std::move(path)) {
  if (is_standard_output()) {
    descriptor_ = STDOUT_FILENO;
    return;
  }
  if (const auto kind = kind_of_file(path_); !kind || *kind == S_IFREG) {
    open_new(ending);
    return;
  }
  // A device or a pipe; a directory fails here.
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor_ < 0) fail(errno);
}

void NewFile::open_new(const char* ending) {
  replaced_ = behind_links(path_);
  std::string made = replaced_.string() + ".XXXXXX" + ending;
  descriptor_ = ::mkostemps(made.data(), static_cast<int>(std::strlen(ending)), O_CLOEXEC);
  if (descriptor_ < 0) fail(errno);
  unfinished_ = std::move(made);
}

NewFile::~NewFile() {
  if (descriptor_ >= 0 && !is_standard_output()) ::close(descriptor_);
  if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
}

void NewFile::fail(int error) const {
  throw std::system_error(error, std::generic_category(), is_standard_output() ? "standard output" : path_.string());
}

void NewFile::flush() {
  if (!write_all(descriptor_, buffer_)) fail(errno);
  buffer_.clear();
}

void NewFile::sync() {
  flush();
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOSYS) fail(errno);
}

void NewFile::finish() {
  flush();
  if (is_standard_output() || descriptor_ < 0) return;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (!unfinished_.empty() && ::fchmod(descriptor_, 0666 & ~mask) != 0) fail(errno);
  // Some file systems report only here that they are full.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  if (unfinished_.empty()) return;
  if (std::rename(unfinished_.c_str(), replaced_.c_str()) != 0) fail(errno);
  unfinished_.clear();
}

void write_whole_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const WithoutSizeSignal without_size_signal;
  NewFile file(path, ".new");
  file.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  file.sync();
  file.finish();
}

}  // namespace refrain::experiment

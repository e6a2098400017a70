#include "offline/experiment/whole_file.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace refrain::experiment {
namespace {

/// While it lives, a file that may not grow (RLIMIT_FSIZE) is an error of write(2), and no signal that ends the
/// program.
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
  std::string made = path_.string() + ".XXXXXX" + ending;
  descriptor_ = ::mkostemps(made.data(), static_cast<int>(std::strlen(ending)), O_CLOEXEC);
  if (descriptor_ < 0) fail(errno);
  unfinished_ = std::move(made);
}

NewFile::~NewFile() {
  if (unfinished_.empty()) return;
  if (descriptor_ >= 0) ::close(descriptor_);
  ::unlink(unfinished_.c_str());
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
  if (unfinished_.empty()) return;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(descriptor_, 0666 & ~mask) != 0) fail(errno);
  // Some file systems tell only here that there is no room.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  if (std::rename(unfinished_.c_str(), path_.c_str()) != 0) fail(errno);
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

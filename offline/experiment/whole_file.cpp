#include "offline/experiment/whole_file.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace refrain::experiment {
namespace {

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

/// The data first, then the name: otherwise a machine that loses its power may have the name of a file without data.
/// Only here some file systems say that they are full.
bool is_on_disk(int file) { return fsync(file) == 0 || errno == EINVAL || errno == ENOSYS; }

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

void write_whole_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const WithoutSizeSignal without_size_signal;
  constexpr const char* ending = ".new";  // readers ignore unfinished files
  std::string made = path.string() + ".XXXXXX" + ending;
  const int file = mkostemps(made.data(), static_cast<int>(std::strlen(ending)), O_CLOEXEC);
  if (file < 0) throw std::system_error(errno, std::generic_category(), path.string());
  const mode_t mask = umask(0);
  umask(mask);
  bool good = write_all(file, bytes) && fchmod(file, 0666 & ~mask) == 0 && is_on_disk(file);
  int error = errno;
  if (close(file) != 0 && good) {
    error = errno;
    good = false;
  }
  if (good && std::rename(made.c_str(), path.c_str()) == 0) return;
  if (good) error = errno;
  unlink(made.c_str());
  throw std::system_error(error, std::generic_category(), path.string());
}

}  // namespace refrain::experiment

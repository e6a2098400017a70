#include "archive/output_file.hpp"

#include <cerrno>
#include <climits>
#include <cstdio>  // rename(2) is declared there
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "config/line.hpp"

namespace refrain::archive {

namespace {

bool join(char (&out)[PATH_MAX], const char* directory, const char* name) {
  config::Line(out, sizeof out) << directory << "/" << name;
  return std::strlen(directory) + 1 + std::strlen(name) < sizeof out;
}

}  // namespace

bool OutputFile::open(const char* directory, const char* name, int flags) {
  char path[PATH_MAX];
  if (!join(path, directory, name)) return error = ENAMETOOLONG, false;
  do descriptor_ = ::open(path, O_WRONLY | O_CLOEXEC | flags, 0666);
  while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) return error = errno, false;
  if (descriptor_ < 3) {
    const int higher = fcntl(descriptor_, F_DUPFD_CLOEXEC, 3);
    if (higher < 0) error = errno;
    ::close(descriptor_);
    descriptor_ = higher;
  }
  return descriptor_ >= 0;
}

bool OutputFile::write_at(const void* data, std::size_t size, std::uint64_t offset) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = pwrite(descriptor_, at, size, static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return error = errno, false;
    }
    if (written == 0) return error = ENOSPC, false;
    at += written;
    offset += static_cast<std::uint64_t>(written);
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

void OutputFile::cut_at(std::uint64_t size) { (void)!ftruncate(descriptor_, static_cast<off_t>(size)); }

bool OutputFile::close() {
  if (descriptor_ < 0) return true;
  // Linux has released the descriptor even when close was interrupted: never twice.
  const bool good = ::close(descriptor_) == 0 || errno == EINTR;
  if (!good) error = errno;
  descriptor_ = -1;
  return good;
}

bool map_file(const char* directory, const char* name, platform::MappedFile& file) {
  char path[PATH_MAX];
  if (!join(path, directory, name)) return file.error = ENAMETOOLONG, false;
  return file.open(path);
}

int rename_in(const char* directory, const char* from, const char* to) {
  char old_path[PATH_MAX], new_path[PATH_MAX];
  if (!join(old_path, directory, from) || !join(new_path, directory, to)) return ENAMETOOLONG;
  if (::rename(old_path, new_path) == 0) return 0;
  const int error = errno;
  unlink(old_path);
  return error;
}

void remove_from(const char* directory, const char* name) {
  char path[PATH_MAX];
  if (join(path, directory, name)) unlink(path);
}

ErrnoKeeper::ErrnoKeeper() : kept_(errno) {}
ErrnoKeeper::~ErrnoKeeper() { errno = kept_; }

}  // namespace refrain::archive

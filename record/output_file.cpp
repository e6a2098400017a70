#include "record/output_file.hpp"

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/line.hpp"
#include "format/profile_file.hpp"
#include "platform/own_descriptor.hpp"

namespace refrain::record {

namespace {

struct {
  int descriptor = -1;
  dev_t device;
  ino_t inode;
  char path[PATH_MAX];
} held;

/// The program may have another descriptor of this number by now. One of the same directory is as good as ours.
bool is_held(const char* directory) {
  struct stat now;
  return held.descriptor >= 0 && std::strcmp(held.path, directory) == 0 && fstat(held.descriptor, &now) == 0 &&
         now.st_dev == held.device && now.st_ino == held.inode;
}

/// The directory descriptor and path by which a file of the directory is passed to the kernel.
struct DirectoryEntry {
  int directory = AT_FDCWD;
  char path[PATH_MAX];
  bool fits;

  DirectoryEntry(const char* directory_name, const char* name) {
    config::Line line(path, sizeof path);
    if (is_held(directory_name)) {
      directory = held.descriptor;
    } else {
      line << directory_name << "/";
    }
    line << name;
    fits = directory != AT_FDCWD || std::strlen(directory_name) + 1 + std::strlen(name) < sizeof path;
  }
};

}  // namespace

void hold_directory(const char* directory) {
  const ErrnoKeeper keeper;
  struct stat status;
  const int descriptor = ::open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  if (is_held(held.path)) ::close(held.descriptor);
  held.descriptor = platform::move_out_of_the_way(descriptor);
  if (held.descriptor < 0 || fstat(held.descriptor, &status) != 0) return;
  held.device = status.st_dev;
  held.inode = status.st_ino;
  config::Line(held.path, sizeof held.path) << directory;
}

bool OutputFile::open(const char* directory, const char* name, int flags) {
  const DirectoryEntry entry(directory, name);
  if (!entry.fits) return error = ENAMETOOLONG, false;
  do descriptor_ = ::openat(entry.directory, entry.path, O_WRONLY | O_CLOEXEC | flags, 0666);
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
  // Linux releases the descriptor even if close is interrupted, so it must not be closed twice.
  const bool good = ::close(descriptor_) == 0 || errno == EINTR;
  if (!good) error = errno;
  descriptor_ = -1;
  return good;
}

RankFileName::RankFileName(const char* begin, std::int32_t rank) {
  config::Line(text, sizeof text) << begin << std::int64_t{rank} << format::spill_name_end;
}

bool map_file(const char* directory, const char* name, platform::MappedFile& file) {
  const DirectoryEntry entry(directory, name);
  if (!entry.fits) return file.error = ENAMETOOLONG, false;
  return file.open(entry.path, entry.directory);
}

int write_whole(const char* directory, const char* name, int flags,
                std::initializer_list<std::span<const std::byte>> pieces) {
  char unfinished[NAME_MAX + 1];
  if (std::strlen(name) + sizeof ".new" > sizeof unfinished) return ENAMETOOLONG;
  config::Line(unfinished, sizeof unfinished) << name << ".new";
  OutputFile file;
  if ((flags & O_EXCL) != 0 && file.open(directory, name, 0)) return EEXIST;
  if (!file.open(directory, unfinished, O_CREAT | flags)) return file.error;
  std::uint64_t at = 0;
  bool good = true;
  for (const std::span<const std::byte> piece : pieces) {
    good = good && file.write_at(piece.data(), piece.size(), at);
    at += piece.size();
  }
  const int error = good && file.close() ? rename_between(directory, unfinished, directory, name) : file.error;
  if (error != 0) remove_from(directory, unfinished);
  return error;
}

int rename_between(const char* directory, const char* name, const char* other_directory, const char* other_name) {
  const DirectoryEntry before(directory, name), after(other_directory, other_name);
  if (!before.fits || !after.fits) return ENAMETOOLONG;
  return syscall(SYS_renameat2, before.directory, before.path, after.directory, after.path, 0) == 0 ? 0 : errno;
}

void remove_from(const char* directory, const char* name) {
  const DirectoryEntry entry(directory, name);
  if (entry.fits) syscall(SYS_unlinkat, entry.directory, entry.path, 0);
}

}  // namespace refrain::record

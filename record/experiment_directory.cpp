#include "record/experiment_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/line.hpp"
#include "config/text.hpp"
#include "format/profile_file.hpp"
#include "record/calendar.hpp"
#include "record/error_text.hpp"
#include "record/output_file.hpp"

namespace refrain::record {

namespace {

using config::Line;

/// What a reader sees until the runtime has written the full manifest.
constexpr std::string_view first_manifest = "{\"state\": \"running\"}\n";

/// Appends the last component of the path, with every character but [A-Za-z0-9._+-] replaced.
void append_executable(Line& line, std::string_view executable) {
  constexpr std::size_t longest = 64;
  const std::string_view name = config::file_name_of(executable);
  for (const char c : config::first_of(name, std::min(name.size(), longest))) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::strchr("._+-", c) != nullptr;
    line << (plain ? c : '_');
  }
  if (name.empty()) line << "program";
}

void append_random(Line& line, std::int64_t now_epoch_ns) {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits)
    bits = static_cast<std::uint64_t>(now_epoch_ns) * 0x9e3779b97f4a7c15u ^ static_cast<std::uint64_t>(getpid()) << 40;
  char text[7] = {};
  for (int i = 0; i < 6; ++i, bits >>= 5) text[i] = "abcdefghijkmnpqrstuvwxyz23456789"[bits & 31];
  line << text;
}

/// Makes all directories above `path`. Returns 0 or the errno value of the first that could not be made.
int make_parents(char* path) {
  for (char* slash = std::strchr(path + 1, '/'); slash != nullptr; slash = std::strchr(slash + 1, '/')) {
    *slash = '\0';
    struct stat status;
    const bool there = ::stat(path, &status) == 0 || ::mkdir(path, 0777) == 0 || errno == EEXIST;
    const int error = errno;
    *slash = '/';
    if (!there) return error;
  }
  return 0;
}

/// Whether `path` is an existing directory without entries. Uses system calls, because opendir allocates.
bool is_empty_directory(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  alignas(dirent64) char buffer[2048];
  bool empty = true;
  long filled = 0;
  while (empty && (filled = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
    for (long at = 0; at < filled;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) empty = false;
      at += entry->d_reclen;
    }
  ::close(fd);
  return empty && filled == 0;
}

/// Claims `path` for this job. Returns 0; EEXIST if it belongs to another, so that the next name must be tried; else
/// the errno value.
int claim(const char* path) {
  const bool made = ::mkdir(path, 0777) == 0;
  if (!made) {
    const int error = errno;
    if (error != EEXIST || !is_empty_directory(path)) return error;
  }
  OutputFile file;
  const bool opened = file.open(path, format::manifest_name, O_CREAT | O_EXCL);
  if (opened && file.write_at(first_manifest.data(), first_manifest.size(), 0) && file.close()) return 0;
  if (opened) remove_from(path, format::manifest_name);
  if (made) ::rmdir(path);  // fails if another job has put its manifest there by now
  return file.error;
}

bool fail(ExperimentDirectory& out, const char* path, int error) {
  Line line(out.line, sizeof out.line);
  line << "the experiment directory '";
  line.foreign(path, 600) << "' cannot be made: " << error_text(error);
  return false;
}

}  // namespace

bool make_experiment_directory(const char* configured, const char* executable, int ranks, std::int64_t now_epoch_ns,
                               ExperimentDirectory& out, int first) {
  const ErrnoKeeper keeper;
  const FileSizeSignalBlocker blocker;
  const bool named = configured != nullptr && configured[0] != '\0';
  constexpr std::size_t longest_made_name = 128;
  out.line[0] = '\0';

  // The absolute path, up to the suffix that is tried below.
  char base[PATH_MAX] = "";
  if (!named || configured[0] != '/') {
    if (::getcwd(base, sizeof base) == nullptr) return fail(out, named ? configured : ".", errno);
    if (std::strlen(base) + 1 + (named ? std::strlen(configured) : longest_made_name) >= sizeof base)
      return fail(out, base, ENAMETOOLONG);
    if (base[1] != '\0') std::strcat(base, "/");
  }
  if (named) {
    if (std::strlen(base) + std::strlen(configured) + 8 >= sizeof base) return fail(out, configured, ENAMETOOLONG);
    std::strcat(base, configured);
    for (std::size_t n = std::strlen(base); n > 1 && base[n - 1] == '/';) base[--n] = '\0';
    if (const int error = make_parents(base)) return fail(out, base, error);
  }

  for (int attempt = 0; attempt < 10'000; ++attempt) {
    Line path(out.path, sizeof out.path);
    path << base;
    if (!named) {
      path << "refrain-";
      append_executable(path, executable ? executable : "");
      path << "-" << std::int64_t{ranks} << "-";
      append_compact_time(path, now_epoch_ns);
      path << "-";
      append_random(path, now_epoch_ns + attempt);
    } else if (first + attempt > 0) {
      path << "." << std::int64_t{first + attempt};
    }
    const int error = claim(out.path);
    if (error == 0) {
      if (named && first + attempt > 0) {
        Line line(out.line, sizeof out.line);
        line << "'";
        line.foreign(base, 400) << "' exists and is not an empty directory: writing to '";
        line.foreign(out.path, 400) << "'";
      }
      return true;
    }
    if (error != EEXIST) return fail(out, out.path, error);
  }
  return fail(out, base, EEXIST);
}

void remove_experiment_directory(const char* path) {
  const ErrnoKeeper keeper;
  remove_from(path, format::manifest_name);
  if (::rmdir(path) == 0 || errno != ENOTEMPTY) return;
  OutputFile file;  // keeps what is left readable
  if (file.open(path, format::manifest_name, O_CREAT | O_EXCL))
    (void)(file.write_at(first_manifest.data(), first_manifest.size(), 0) && file.close());
}

}  // namespace refrain::record

#include "platform/cores.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

namespace refrain::platform {

bool add_cores_of(int os_thread_id, Cores& cores) {
  const int before = errno;
  Cores of{};
  // libc's function fills the rest of the set; the kernel says how much it has written.
  const long bytes = syscall(SYS_sched_getaffinity, os_thread_id, sizeof of.words, of.words);
  errno = before;
  if (bytes <= 0) return false;
  cores.add(of);
  return true;
}

namespace {

constexpr std::int64_t none = 0;

/// A path that is put together; one that does not fit is empty.
struct Path {
  char text[PATH_MAX];
  std::size_t length = 0;
  Path(std::string_view directory, std::string_view name) {
    if (directory.size() + name.size() < sizeof text) {
      std::memcpy(text, directory.data(), directory.size());
      std::memcpy(text + directory.size(), name.data(), name.size());
      length = directory.size() + name.size();
    }
    text[length] = 0;
  }
  std::string_view view() const { return {text, length}; }
};

/// The file's begin.
std::string_view read_text(const Path& path, char* text, std::size_t size) {
  const int fd = open(path.text, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t n = read(fd, text, size);
  close(fd);
  return {text, n > 0 ? static_cast<std::size_t>(n) : 0};
}

/// The number at the begin of the text, which is taken off; 0: there is none.
std::int64_t take_number(std::string_view& text) {
  std::int64_t number = 0;
  while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
  for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1))
    if (number < 1'000'000'000'000) number = 10 * number + (text[0] - '0');
  return number;
}

std::int64_t in_thousandths(std::int64_t quota, std::int64_t period) {
  return quota > 0 && period > 0 ? (quota * 1000 + period / 2) / period : none;
}

/// "MAX PERIOD" or "max PERIOD", microseconds.
std::int64_t quota_of_v2(std::string_view group) {
  char buffer[64];
  std::string_view text = read_text(Path(group, "/cpu.max"), buffer, sizeof buffer);
  const std::int64_t quota = take_number(text);
  return in_thousandths(quota, take_number(text));
}

/// A quota below 0 is none.
std::int64_t quota_of_v1(std::string_view group) {
  char buffer[64];
  std::string_view text = read_text(Path(group, "/cpu.cfs_quota_us"), buffer, sizeof buffer);
  const std::int64_t quota = take_number(text);
  text = read_text(Path(group, "/cpu.cfs_period_us"), buffer, sizeof buffer);
  return in_thousandths(quota, take_number(text));
}

std::int64_t smaller_quota(std::int64_t a, std::int64_t b) { return a == none || (b != none && b < a) ? b : a; }

/// The smallest quota of a control group and of those around it. `root`: where the hierarchy is mounted.
template <class QuotaOf>
std::int64_t smallest_quota(std::string_view root, std::string_view group, QuotaOf quota_of) {
  const Path path(root, group);
  std::int64_t smallest = none;
  for (std::string_view rest = path.view(); rest.size() >= root.size();) {
    smallest = smaller_quota(smallest, quota_of(rest));
    const std::size_t slash = rest.rfind('/');
    if (slash == rest.npos) break;
    rest = rest.substr(0, slash);
  }
  return smallest;
}

bool names_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "cpu") return true;
    if (comma == controllers.npos) return false;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

std::int64_t cpu_quota_in_thousandths() {
  char buffer[8192];
  std::string_view rest = read_text(Path("/proc/self", "/cgroup"), buffer, sizeof buffer);
  std::int64_t smallest = none;
  // Lines of ID:CONTROLLERS:PATH; version 2 names no controllers.
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : rest.size());
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    // substr() would throw, and needs the C++ library for that.
    const std::string_view controllers(line.data() + first + 1, second - first - 1);
    const std::string_view group(line.data() + second + 1, line.size() - second - 1);
    if (controllers.empty()) smallest = smaller_quota(smallest, smallest_quota("/sys/fs/cgroup", group, quota_of_v2));
    else if (names_cpu(controllers))
      smallest = smaller_quota(smallest, smallest_quota("/sys/fs/cgroup/cpu", group, quota_of_v1));
  }
  return smallest;
}

}  // namespace refrain::platform

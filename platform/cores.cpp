#include "platform/cores.hpp"

#include <cstring>
#include <fcntl.h>
#include <limits.h>
#include <limits>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/errno_keeper.hpp"

namespace refrain::platform {

bool add_cores_of(int os_thread_id, Cores& cores) {
  const ErrnoKeeper errno_keeper;
  Cores of{};
  // libc's function would clear the rest of the set; the kernel returns how much it has written.
  const long bytes = syscall(SYS_sched_getaffinity, os_thread_id, sizeof of.words, of.words);
  if (bytes <= 0) return false;
  cores.add(of);
  return true;
}

namespace {

constexpr std::int64_t none = 0, unknown = -1;

/// A path put together from parts. One that does not fit becomes empty.
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

/// Reads the beginning of a file. Preserves errno.
std::string_view read_text(const Path& path, char* text, std::size_t size) {
  const ErrnoKeeper errno_keeper;
  ssize_t n = 0;
  if (const int fd = open(path.text, O_RDONLY | O_CLOEXEC); fd >= 0) {
    n = read(fd, text, size);
    close(fd);
  }
  return {text, n > 0 ? static_cast<std::size_t>(n) : 0};
}

/// Removes the number at the beginning of the text and returns it; 0: there is none.
std::int64_t take_number(std::string_view& text) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() - 9;
  std::int64_t number = 0;
  while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
  for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1))
    if (number < most / 10) number = 10 * number + (text[0] - '0');
  return number;
}

std::int64_t in_thousandths(std::int64_t quota, std::int64_t period) {
  constexpr std::int64_t most = 1'000'000'000'000;
  return quota > 0 && quota < most && period > 0 && period < most ? (quota * 1000 + period / 2) / period : none;
}

/// Parses "MAX PERIOD" or "max PERIOD", in microseconds.
std::int64_t quota_of_v2(std::string_view group) {
  char buffer[64];
  std::string_view text = read_text(Path(group, "/cpu.max"), buffer, sizeof buffer);
  const std::int64_t quota = take_number(text);
  return in_thousandths(quota, take_number(text));
}

/// A negative quota means none.
std::int64_t quota_of_v1(std::string_view group) {
  char buffer[64];
  std::string_view text = read_text(Path(group, "/cpu.cfs_quota_us"), buffer, sizeof buffer);
  const std::int64_t quota = take_number(text);
  text = read_text(Path(group, "/cpu.cfs_period_us"), buffer, sizeof buffer);
  return in_thousandths(quota, take_number(text));
}

/// The number behind the word at the beginning of a line; -1: there is no such line.
std::int64_t number_behind(std::string_view word, std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    if (line.substr(0, word.size()) != word) continue;
    line.remove_prefix(word.size());
    return take_number(line);
  }
  return -1;
}

std::int64_t throttled_in(std::string_view group, std::string_view word, std::int64_t ns) {
  char buffer[2048];
  const std::int64_t number = number_behind(word, read_text(Path(group, "/cpu.stat"), buffer, sizeof buffer));
  return number < 0 ? unknown : ns * number;
}
std::int64_t throttled_of_v2(std::string_view group) { return throttled_in(group, "throttled_usec ", 1000); }
std::int64_t throttled_of_v1(std::string_view group) { return throttled_in(group, "throttled_time ", 1); }
std::int64_t sum_of_known(std::int64_t a, std::int64_t b) { return a == unknown ? b : b == unknown ? a : a + b; }

std::int64_t smaller_quota(std::int64_t a, std::int64_t b) { return a == none || (b != none && b < a) ? b : a; }

/// Combines the values of a control group and the groups around it with `all`. `root`: where the hierarchy is mounted.
template <class Of, class Join>
std::int64_t joined_upwards(std::int64_t all, std::string_view root, std::string_view group, Of of, Join join) {
  const Path path(root, group);
  for (std::string_view rest = path.view(); rest.size() >= root.size();) {
    all = join(all, of(rest));
    const std::size_t slash = rest.rfind('/');
    if (slash == rest.npos) break;
    rest = rest.substr(0, slash);
  }
  return all;
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

/// Combines the CPU time values of the process's control groups and the groups around them; `all`: the result without
/// any.
template <class OfV1, class OfV2, class Join>
std::int64_t of_control_groups(std::int64_t all, OfV1 of_v1, OfV2 of_v2, Join join) {
  char buffer[8192];
  std::string_view rest = read_text(Path("/proc/self", "/cgroup"), buffer, sizeof buffer);
  // Lines of ID:CONTROLLERS:PATH; version 2 names no controllers.
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : rest.size());
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    // substr() could throw, for which it needs the C++ library.
    const std::string_view controllers(line.data() + first + 1, second - first - 1);
    const std::string_view group(line.data() + second + 1, line.size() - second - 1);
    if (controllers.empty()) all = joined_upwards(all, "/sys/fs/cgroup", group, of_v2, join);
    else if (names_cpu(controllers)) all = joined_upwards(all, "/sys/fs/cgroup/cpu", group, of_v1, join);
  }
  return all;
}

/// Calls take(core, the rest of its line) for the lines "cpuN ..." of /proc/stat, which are its first ones except for
/// the sum of all.
template <class Take>
void for_each_core(Take take) {
  char text[4096];
  const int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  std::size_t held = 0;
  for (bool goes_on = true; goes_on;) {
    const ssize_t n = read(fd, text + held, sizeof text - held);
    if (n <= 0) break;
    std::string_view rest(text, held + static_cast<std::size_t>(n));
    for (std::size_t end; goes_on && (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
      std::string_view line(rest.data(), end);
      goes_on = line.size() > 3 && std::memcmp(line.data(), "cpu", 3) == 0;
      if (!goes_on || line[3] == ' ') continue;
      line.remove_prefix(3);
      const std::int64_t core = take_number(line);
      take(static_cast<std::size_t>(core), line);
    }
    held = rest.size();
    if (held == sizeof text) break;  // no line is that long
    std::memmove(text, rest.data(), held);
  }
  close(fd);
}

}  // namespace

std::int64_t cpu_quota_in_thousandths() { return of_control_groups(none, quota_of_v1, quota_of_v2, smaller_quota); }

std::int64_t throttled_ns() { return of_control_groups(unknown, throttled_of_v1, throttled_of_v2, sum_of_known); }

std::int64_t taken_ns(const Cores& cores) {
  constexpr std::int64_t ns_per_tick = 10'000'000;  // of user space, on all Linux platforms that Refrain runs on
  std::int64_t ticks = 0;
  bool any = false;
  for_each_core([&](std::size_t core, std::string_view line) {
    if (core >= Cores::most || !cores.has(core)) return;
    any = true;
    // user, nice, system, idle, iowait, irq, softirq, steal
    for (int column = 0; column < 8; ++column) {
      const std::int64_t value = take_number(line);
      if (column >= 5) ticks += value;
    }
  });
  return any ? ticks * ns_per_tick : unknown;
}

}  // namespace refrain::platform

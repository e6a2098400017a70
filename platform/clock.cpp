#include "platform/clock.hpp"

#include <cstring>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "platform/hot.hpp"

namespace refrain::platform {

// The first variable of the section, whose place in a cache line it decides.
alignas(64) REFRAIN_HOT_DATA bool counter_is_trusted = false;

namespace {

std::int64_t read_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

/// The kernel checks the counter against other clocks all the time and stops using it as its own when it drifts or
/// stops: its choice is the best witness there is.
bool kernel_trusts_counter() {
  const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char name[16] = {};
  const ssize_t n = read(fd, name, sizeof name - 1);
  close(fd);
  return n >= 3 && std::memcmp(name, "tsc", 3) == 0;
}

}  // namespace

std::int64_t monotonic_ns() { return read_ns(CLOCK_MONOTONIC); }
std::int64_t thread_cpu_ns() { return read_ns(CLOCK_THREAD_CPUTIME_ID); }
std::int64_t wall_clock_ns() { return read_ns(CLOCK_REALTIME); }

void start_clock() { counter_is_trusted = kernel_trusts_counter(); }

ClockAnchor read_anchor() {
  // Of several readings the one with the shortest gap between the two counter reads is the closest pair.
  ClockAnchor best{};
  Ticks shortest = 0;
  for (int i = 0; i < 8; ++i) {
    const Ticks before = now();
    const std::int64_t ns = monotonic_ns();
    const Ticks after = now();
    if (i == 0 || after - before < shortest) {
      shortest = after - before;
      best = {before + (after - before) / 2, ns};
    }
  }
  return best;
}

double ticks_per_second(const ClockAnchor& first, const ClockAnchor& last) {
  if (last.monotonic_ns <= first.monotonic_ns || last.ticks <= first.ticks) return 1e9;
  return static_cast<double>(last.ticks - first.ticks) * 1e9 /
         static_cast<double>(last.monotonic_ns - first.monotonic_ns);
}

}  // namespace refrain::platform

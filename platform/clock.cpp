#include "platform/clock.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fcntl.h>
#include <limits>
#include <span>
#include <string_view>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "platform/hot.hpp"
#include "platform/system_call.h"

namespace refrain::platform {

// The first variable of the section, which determines the alignment of the others.
alignas(64) REFRAIN_HOT_DATA bool counter_is_trusted = false;

namespace {

std::int64_t read_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

/// The kernel's clock source; empty: unknown.
std::string_view kernel_clock_source(std::span<char> buffer) {
  const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t n = read(fd, buffer.data(), buffer.size());
  close(fd);
  const std::string_view text(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return text.substr(0, text.find('\n'));
}

/// Time of the shortest of several calls, in ticks of the counter.
template <class Call>
Ticks shortest_time_of(Call call) {
  Ticks shortest = std::numeric_limits<Ticks>::max();
  for (int i = 0; i < 16; ++i) {
    const auto before = static_cast<Ticks>(read_counter());
    call();
    shortest = std::min(shortest, static_cast<Ticks>(read_counter()) - before);
  }
  return shortest;
}

/// The C library's clock function, which enters the kernel only if it must.
bool clock_is_read_without_system_call() {
  timespec t;
  return 2 * shortest_time_of([&] { clock_gettime(CLOCK_MONOTONIC, &t); }) < shortest_time_of([&] {
           refrain_system_call(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&t), 0, 0, 0, 0);
         });
}

/// The kernel's choice is the best evidence. It compares "tsc" with other clocks all the time, and drops it when it
/// drifts or stops. In virtual machines the hypervisor tells the kernel how to compute its clock from the counter; if
/// the counters of the processors differ, the kernel must be entered for it (Linux, Documentation/virt/kvm/x86/msr.rst,
/// PVCLOCK_TSC_STABLE_BIT; Hyper-V's reference time page).
bool kernel_trusts_counter() {
  std::array<char, 64> buffer;
  const std::string_view source = kernel_clock_source(buffer);
  if (source == "tsc") return true;
  return (source == "kvm-clock" || source == "hyperv_clocksource_tsc_page") && counter_is_invariant() &&
         clock_is_read_without_system_call();
}

/// Reads both clocks several times and takes the pair with the shortest gap between its two counter reads.
ClockAnchor anchor_by(clockid_t clock) {
  ClockAnchor best{};
  Ticks shortest = 0;
  for (int i = 0; i < 8; ++i) {
    const Ticks before = now();
    const std::int64_t ns = read_ns(clock);
    const Ticks after = now();
    if (i == 0 || after - before < shortest) {
      shortest = after - before;
      best = {before + (after - before) / 2, ns};
    }
  }
  return best;
}

}  // namespace

std::int64_t monotonic_ns() { return read_ns(CLOCK_MONOTONIC); }
std::int64_t thread_cpu_ns() { return read_ns(CLOCK_THREAD_CPUTIME_ID); }
std::int64_t process_cpu_ns() { return read_ns(CLOCK_PROCESS_CPUTIME_ID); }
std::int64_t wall_clock_ns() { return read_ns(CLOCK_REALTIME); }

void start_clock() { counter_is_trusted = kernel_trusts_counter(); }

ClockAnchor read_anchor() { return anchor_by(CLOCK_MONOTONIC); }
ClockAnchor read_uncorrected_anchor() { return anchor_by(counter_is_trusted ? CLOCK_MONOTONIC_RAW : CLOCK_MONOTONIC); }

double ticks_per_second(const ClockAnchor& first, const ClockAnchor& last) {
  if (last.monotonic_ns <= first.monotonic_ns || last.ticks <= first.ticks) return 1e9;
  return static_cast<double>(last.ticks - first.ticks) * 1e9 /
         static_cast<double>(last.monotonic_ns - first.monotonic_ns);
}

bool CounterWatch::agrees(const ClockAnchor& anchor) {
  // The rate is taken over at least a second, because anchors are good to some ten nanoseconds, seldom to microseconds.
  constexpr std::int64_t shortest_ns = 1'000'000'000;
  constexpr double steered = 1e-3, min_ns = 1e6;
  const auto rate_between = [](const ClockAnchor& from, const ClockAnchor& to) {
    return static_cast<double>(to.ticks - from.ticks) / static_cast<double>(to.monotonic_ns - from.monotonic_ns);
  };
  if (last_.monotonic_ns - first_.monotonic_ns < shortest_ns) {
    last_ = anchor;
    return true;
  }
  const auto passed_ns = static_cast<double>(anchor.monotonic_ns - last_.monotonic_ns);
  const double counted_ns = static_cast<double>(anchor.ticks - last_.ticks) / rate_between(first_, last_);
  const bool agree = std::abs(counted_ns - passed_ns) <= min_ns + steered * passed_ns;
  if (!agree) first_ = anchor;
  last_ = anchor;
  return agree;
}

}  // namespace refrain::platform

#pragma once
/// Waits for something that another thread or process is about to do and cannot announce: a little longer each time,
/// and limited by the clock, since the time that a number of yields takes depends on the other threads of the machine.
#include <algorithm>
#include <cstdint>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "platform/clock.hpp"

namespace refrain::platform {

class Backoff {
 public:
  explicit Backoff(std::int64_t timeout_ns) : deadline_(monotonic_ns() + timeout_ns) {}
  /// `deadline_ns` is a time of the monotonic clock.
  static Backoff until(std::int64_t deadline_ns) { return Backoff(deadline_ns - monotonic_ns()); }
  /// Yields the processor, later sleeps for a moment. False: the time is over. errno may change. Async-signal-safe.
  bool wait() {
    if (rounds_ < polite_rounds) {
      sched_yield();
    } else {
      const timespec pause{0, pause_ns_};
      syscall(SYS_nanosleep, &pause, nullptr);
      pause_ns_ = std::min(2 * pause_ns_, max_pause_ns);
    }
    return ++rounds_ % 16 != 0 || monotonic_ns() < deadline_;
  }

 private:
  static constexpr unsigned polite_rounds = 64;
  static constexpr long max_pause_ns = 200'000;
  std::int64_t deadline_;
  unsigned rounds_ = 0;
  long pause_ns_ = 1000;
};

}  // namespace refrain::platform

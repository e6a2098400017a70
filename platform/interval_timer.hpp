#pragma once
/// A timer that sends one signal to one thread (timer_create with SIGEV_THREAD_ID). Not setitimer, which survives exec
/// and kills the new image.

#include <cstdint>
#include <signal.h>

namespace refrain::platform {

enum class TimerClock : std::uint8_t {
  ThreadCpu,  ///< CPU time of the thread: interrupts no system call, never fires faster than the kernel's tick
  Wall,       ///< CLOCK_MONOTONIC: precise, but sleeping calls of the program return EINTR
};

class IntervalTimer {
 public:
  /// Creates a timer for the *calling* thread. False: the kernel refuses, and errno is set.
  bool create(TimerClock clock, int signal);
  /// Fires after `ns` nanoseconds (0 disarms), and then every `again_ns` (0: never again) until it is armed anew.
  /// Async-signal-safe.
  bool arm(std::int64_t ns, std::int64_t again_ns = 0);
  /// Async-signal-safe. Idempotent.
  void destroy();
  bool exists() const { return exists_; }
  /// Whether this timer, which may no longer exist, has sent the signal. Async-signal-safe.
  bool has_sent(const siginfo_t& info) const {
    return id_ != none && info.si_code == SI_TIMER && info.si_timerid == id_;
  }

 private:
  static constexpr int none = -1;
  int id_ = none;  ///< the kernel's id: we use system calls, since glibc's wrapper keeps lists under a lock
  bool exists_ = false;
};

/// Length of the kernel's tick in nanoseconds: a timer on a CPU clock fires only then.
std::int64_t cpu_timer_resolution_ns();

}  // namespace refrain::platform

#pragma once
/// A one-shot timer that sends one signal to one thread (timer_create with SIGEV_THREAD_ID). Never setitimer: it
/// survives exec and kills the new image.

#include <cstdint>

namespace refrain::platform {

enum class TimerClock : std::uint8_t {
  ThreadCpu,  ///< CPU time of the thread: interrupts no system call, never fires faster than the kernel's tick
  Wall,       ///< CLOCK_MONOTONIC: precise, but sleeping calls of the program return EINTR
};

class IntervalTimer {
 public:
  /// Creates a timer for the *calling* thread. False with errno set when the kernel refuses.
  bool create(TimerClock clock, int signal);
  /// Fires once after `ns`; 0 disarms. Async-signal-safe.
  bool arm(std::int64_t ns);
  /// Async-signal-safe. Idempotent.
  void destroy();
  bool exists() const { return exists_; }

 private:
  int id_ = 0;  ///< the kernel's timer id: system calls are made directly, glibc's wrapper keeps lists under a lock
  bool exists_ = false;
};

/// Length of the kernel's tick in nanoseconds: a timer on a CPU clock fires only then.
std::int64_t cpu_timer_resolution_ns();

}  // namespace refrain::platform

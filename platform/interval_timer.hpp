#pragma once
/// A timer that sends one signal to one thread (timer_create with SIGEV_THREAD_ID). Never setitimer: it
/// survives exec and kills the new image.

#include <cstdint>
#include <signal.h>

namespace refrain::platform {

enum class TimerClock : std::uint8_t {
  ThreadCpu,  ///< CPU time of the thread: interrupts no system call, never fires faster than the kernel's tick
  Wall,       ///< CLOCK_MONOTONIC: precise, but sleeping calls of the program return EINTR
};

class IntervalTimer {
 public:
  /// Creates a timer for the *calling* thread. False with errno set when the kernel refuses.
  bool create(TimerClock clock, int signal);
  /// Fires after `ns`, 0 disarms; and then, as long as it is not armed anew, every `again_ns`, 0: never again.
  /// Async-signal-safe.
  bool arm(std::int64_t ns, std::int64_t again_ns = 0);
  /// Async-signal-safe. Idempotent.
  void destroy();
  bool exists() const { return exists_; }
  /// A signal of this timer, which may exist no more. Async-signal-safe.
  bool has_sent(const siginfo_t& info) const {
    return id_ != none && info.si_code == SI_TIMER && info.si_timerid == id_;
  }

 private:
  static constexpr int none = -1;
  int id_ = none;  ///< the kernel's timer id: system calls are made directly, glibc's wrapper keeps lists under a lock
  bool exists_ = false;
};

/// Length of the kernel's tick in nanoseconds: a timer on a CPU clock fires only then.
std::int64_t cpu_timer_resolution_ns();

}  // namespace refrain::platform

#pragma once
/// Sends a signal to a thread when its own task clock overflows: perf_event_open, PERF_COUNT_SW_TASK_CLOCK.
///
/// The event uses a high-resolution timer that runs only while the thread does, and keeps the remaining time across
/// switches. So each moment of running has the same chance, however short the stretches between waits are. It fires
/// repeatedly until it is paused: PERF_EVENT_IOC_REFRESH, which would stop it at each overflow, hangs the whole machine
/// with some kernels (6.16 and 6.17).
///
/// Only overflows in user mode count. A signal that is sent to a thread in a system call, just before it goes to sleep,
/// ends the sleep with EINTR (4 of 4,500 calls of nanosleep at 1000 Hz); one sent from an interrupt of user mode is
/// delivered at once. Nor does this need privileges up to kernel.perf_event_paranoid = 2.
///
/// The signal must be a standard one, of which at most one is pending. Real-time signals would queue up while the
/// program blocks them, and beyond RLIMIT_SIGPENDING the kernel sends SIGIO in their place, which ends the program.

#include <cstdint>
#include <signal.h>

namespace refrain::platform {

class TaskClockEvent {
 public:
  /// For the calling thread; does not run yet. False with errno set: EACCES, EPERM, ENOSYS (not allowed), EMFILE (no
  /// descriptors, or none left for such events: own_descriptor.hpp). Ordinary context.
  [[nodiscard]] bool open(int signal);
  /// Runs: the next overflow comes after the thread has run for `ns`, and so do later ones unless the period is
  /// changed. False: the program has closed the descriptor. May be called by any thread. Async-signal-safe.
  bool start(std::int64_t ns);
  /// The same for a running event, by its handler: one system call less.
  bool set_period(std::int64_t ns);
  /// Async-signal-safe.
  void pause();
  /// No overflow comes afterwards. Async-signal-safe. Idempotent.
  void close();
  /// For a forked child: closes its copy of the descriptor; the event goes on.
  void close_copy();

  /// Whether a descriptor caused the signal. Async-signal-safe.
  static bool is_of_descriptor(const siginfo_t& info) { return info.si_code >= POLL_IN && info.si_code <= POLL_HUP; }
  /// Whether this event has sent the signal. Async-signal-safe.
  bool has_sent(const siginfo_t& info) const { return exists() && is_of_descriptor(info) && info.si_fd == descriptor_; }

  bool exists() const { return descriptor_ > 0; }
  /// The number that the kernel passes as si_fd.
  int descriptor() const { return descriptor_; }
  /// Whether the number is still this event's. Async-signal-safe.
  bool is_open() const;

 private:
  int descriptor_ = 0;  ///< 0: none. Never standard input, since it was moved
  int signal_ = 0;
  int os_thread_id_ = 0;
};

}  // namespace refrain::platform

#pragma once
/// Overflows of a thread's own task clock, as a signal to it: perf_event_open, PERF_COUNT_SW_TASK_CLOCK.
///
/// A high-resolution timer that runs only while the thread does and keeps what is left across switches, so that each
/// moment of running has the same chance, however short the stretches are between waits. It fires again and again until
/// it is paused: PERF_EVENT_IOC_REFRESH, which would stop it at each overflow, hangs the whole machine with some
/// kernels (6.16 and 6.17).
///
/// Only overflows in user mode are seen. A signal that is sent while a thread is in a system call, just before it goes
/// to sleep, ends the sleep with EINTR (4 of 4,500 calls of nanosleep at 1000 Hz); one sent from an interrupt of user
/// mode is delivered at once. Nor does it need privileges up to kernel.perf_event_paranoid = 2.
///
/// The signal must be a standard one: of these at most one is pending. Real-time signals would queue up while the
/// program has them blocked, and beyond RLIMIT_SIGPENDING the kernel sends SIGIO in their place, which ends the
/// program.

#include <cstdint>
#include <signal.h>

namespace refrain::platform {

class TaskClockEvent {
 public:
  /// For the calling thread, not running yet. False with errno set: EACCES, EPERM, ENOSYS (not allowed), EMFILE (no
  /// descriptors, or none of those that such events may have: own_descriptor.hpp). Ordinary context.
  [[nodiscard]] bool open(int signal);
  /// Runs; the next overflow comes after `ns` of the thread's running and, where nothing else is said, those after it
  /// too. False: the program has closed the descriptor. By any thread. Async-signal-safe.
  bool start(std::int64_t ns);
  /// The same for an event that runs, by its handler: one system call less.
  bool set_period(std::int64_t ns);
  /// Async-signal-safe.
  void pause();
  /// Nothing comes after it. Async-signal-safe. Idempotent.
  void close();
  /// In a forked child: its copy of the descriptor is closed, and the event goes on.
  void close_copy();

  /// What the kernel sends of descriptors. Async-signal-safe.
  static bool is_of_descriptor(const siginfo_t& info) { return info.si_code >= POLL_IN && info.si_code <= POLL_HUP; }
  /// A signal of this event. Async-signal-safe.
  bool has_sent(const siginfo_t& info) const { return exists() && is_of_descriptor(info) && info.si_fd == descriptor_; }

  bool exists() const { return descriptor_ > 0; }
  /// Number that the kernel gives as si_fd.
  int descriptor() const { return descriptor_; }
  /// The number still is this event's. Async-signal-safe.
  bool is_open() const;

 private:
  int descriptor_ = 0;  ///< 0: none. Never the program's standard input: it has been moved
  int signal_ = 0;
  int os_thread_id_ = 0;
};

}  // namespace refrain::platform

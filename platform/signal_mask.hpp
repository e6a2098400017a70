#pragma once
/// Signal masks and pending signals, as the kernel has them. The C library's functions for these belong to the program,
/// and the runtime answers some of them itself (guest/signal_sets.cpp).

#include <cstddef>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace refrain::platform {

/// The kernel's set of signals is one word; the C library's is longer.
inline constexpr std::size_t kernel_set_size = _NSIG / 8;

/// Changes the calling thread's mask; only reads it if `set` is null. Async-signal-safe.
inline void change_signal_mask(int how, const sigset_t* set, sigset_t* old) {
  if (old) sigemptyset(old);
  syscall(SYS_rt_sigprocmask, how, set, old, kernel_set_size);
}

/// Signals that are pending for the calling thread or its process. Async-signal-safe.
inline sigset_t pending_signals() {
  sigset_t pending;
  sigemptyset(&pending);
  syscall(SYS_rt_sigpending, &pending, kernel_set_size);
  return pending;
}

/// Takes a pending signal of `set`, or waits for one, at most `timeout`. Returns its number, or -1 with errno set.
/// Async-signal-safe.
inline int take_signal(const sigset_t& set, siginfo_t* info, const timespec& timeout) {
  return static_cast<int>(syscall(SYS_rt_sigtimedwait, &set, info, &timeout, kernel_set_size));
}

}  // namespace refrain::platform

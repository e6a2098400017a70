#pragma once
/// Signals of faults: those that an instruction causes, and that come again when it is executed again.

#include <signal.h>

namespace refrain::platform {

inline constexpr int fault_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

// Async-signal-safe.
inline bool is_fault_signal(int signal) {
  for (const int fault : fault_signals)
    if (fault == signal) return true;
  return false;
}

inline sigset_t fault_signal_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int fault : fault_signals) sigaddset(&set, fault);
  return set;
}

}  // namespace refrain::platform

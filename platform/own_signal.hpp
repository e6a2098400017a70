#pragma once
/// Signals that a write of ours may cause (SIGXFSZ, SIGPIPE): they must not end the program.

#include <signal.h>

namespace refrain::platform {

/// While an object lives, `signal` is blocked in this thread. One that we caused is removed before the old mask is
/// restored. errno is preserved. Async-signal-safe.
class OwnSignalBlocker {
 public:
  explicit OwnSignalBlocker(int signal);
  ~OwnSignalBlocker();
  OwnSignalBlocker(const OwnSignalBlocker&) = delete;
  OwnSignalBlocker& operator=(const OwnSignalBlocker&) = delete;

 private:
  sigset_t signal_, old_mask_;
  bool was_pending_;
};

}  // namespace refrain::platform

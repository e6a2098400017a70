#pragma once
/// A signal that a write of ours may bring (SIGXFSZ, SIGPIPE): the program shall not die of it.

#include <signal.h>

namespace refrain::platform {

/// While it lives, `signal` is blocked in this thread, and one that we caused is taken away before the old mask comes
/// back. Errno is kept. Async-signal-safe.
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

#include "platform/own_signal.hpp"

#include <errno.h>
#include <time.h>

namespace refrain::platform {

OwnSignalBlocker::OwnSignalBlocker(int signal) {
  sigset_t pending;
  sigpending(&pending);
  was_pending_ = sigismember(&pending, signal) == 1;
  sigemptyset(&signal_);
  sigaddset(&signal_, signal);
  pthread_sigmask(SIG_BLOCK, &signal_, &old_mask_);
}

OwnSignalBlocker::~OwnSignalBlocker() {
  const int saved_errno = errno;
  const timespec now{};
  while (!was_pending_ && sigtimedwait(&signal_, nullptr, &now) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
  errno = saved_errno;
}

}  // namespace refrain::platform

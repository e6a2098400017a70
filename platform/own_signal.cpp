#include "platform/own_signal.hpp"

#include <errno.h>
#include <time.h>

#include "platform/errno_keeper.hpp"
#include "platform/signal_mask.hpp"

namespace refrain::platform {

OwnSignalBlocker::OwnSignalBlocker(int signal) {
  const sigset_t pending = pending_signals();
  was_pending_ = sigismember(&pending, signal) == 1;
  sigemptyset(&signal_);
  sigaddset(&signal_, signal);
  change_signal_mask(SIG_BLOCK, &signal_, &old_mask_);
}

OwnSignalBlocker::~OwnSignalBlocker() {
  const ErrnoKeeper errno_keeper;
  const timespec now{};
  while (!was_pending_ && take_signal(signal_, nullptr, now) < 0 && errno == EINTR) {
  }
  change_signal_mask(SIG_SETMASK, &old_mask_, nullptr);
}

}  // namespace refrain::platform

#include "tools/held_signals.hpp"

#include <ctime>
#include <sys/signalfd.h>
#include <unistd.h>

namespace refrain::tools {

HeldSignals::HeldSignals() {
  sigemptyset(&ending_);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) sigaddset(&ending_, signal);
  sigprocmask(SIG_BLOCK, &ending_, &before_);
  descriptor_ = signalfd(-1, &ending_, SFD_CLOEXEC | SFD_NONBLOCK);
}

HeldSignals::~HeldSignals() {
  const timespec now{};
  while (sigtimedwait(&ending_, nullptr, &now) > 0) {
  }
  if (descriptor_ >= 0) close(descriptor_);
  release();
}

void HeldSignals::release() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }

void HeldSignals::check() const {
  sigset_t pending;
  sigpending(&pending);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM})
    if (sigismember(&pending, signal) == 1) throw Interrupted();
}

}  // namespace refrain::tools

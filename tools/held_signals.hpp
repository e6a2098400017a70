#pragma once
/// Signals that ask this process to end, held back while it waits for another one.

#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace refrain::tools {

/// The first of these signals makes a descriptor readable. Those that came in the meantime are taken away at the end.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) sigaddset(&ending, signal);
    sigprocmask(SIG_BLOCK, &ending, &before_);
    descriptor_ = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~HeldSignals() {
    signalfd_siginfo taken;
    while (descriptor_ >= 0 && read(descriptor_, &taken, sizeof taken) > 0) {
    }
    if (descriptor_ >= 0) close(descriptor_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  int descriptor() const { return descriptor_; }
  /// In a child process, which ends by them.
  void release() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
  int descriptor_ = -1;
};

}  // namespace refrain::tools

/// The program's own use of signals.
///
/// A program that resets every signal in a loop would otherwise die of the next tick. The sampling signal is virtual
/// for it: what it sets to default or ignored, and what it asks for, is answered from its own point of view; when it
/// installs a handler of its own, the signal is left to it and sampling ends.

#include <errno.h>
#include <signal.h>

#include "platform/next_definition.hpp"
#include "runtime/runtime.hpp"
#include "sampling/sampler.hpp"

namespace {

struct sigaction program_view {};  // zero is SIG_DFL

bool is_ours(int signal) {
  return signal == refrain::sampling::sampling_signal() && signal != 0 && refrain::runtime::is_measuring();
}

bool is_handler(sighandler_t handler) { return handler != SIG_DFL && handler != SIG_IGN; }

using NextSignal = refrain::platform::NextDefinition<sighandler_t(int, sighandler_t)>;

/// The simple interfaces: `signal` and its relatives, which differ in flags only.
sighandler_t set_handler(NextSignal& definition, int signal, sighandler_t handler) {
  auto* next = definition.get();
  if (is_ours(signal)) {
    if (!is_handler(handler)) {
      const sighandler_t before = program_view.sa_handler;
      program_view.sa_handler = handler;
      return before;
    }
    refrain::runtime::on_signal_taken();
    if (next) next(signal, handler);
    return program_view.sa_handler;
  }
  return next ? next(signal, handler) : SIG_ERR;
}

refrain::platform::NextDefinition<int(int, const struct sigaction*, struct sigaction*)> next_sigaction{"sigaction"};
NextSignal next_signal{"signal"};
NextSignal next_sysv_signal{"sysv_signal"};
NextSignal next_internal_sysv_signal{"__sysv_signal"};
NextSignal next_bsd_signal{"bsd_signal"};

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int sigaction(int signal, const struct sigaction* action,
                                             struct sigaction* old) noexcept {
  auto* next = next_sigaction.get();
  if (!is_ours(signal)) {
    if (next) return next(signal, action, old);
    errno = ENOSYS;
    return -1;
  }
  const struct sigaction before = program_view;
  if (action) {
    if (is_handler(action->sa_handler) || (action->sa_flags & SA_SIGINFO)) {
      refrain::runtime::on_signal_taken();
      if (next && next(signal, action, nullptr) != 0) return -1;
    } else {
      program_view = *action;
    }
  }
  if (old) *old = before;
  return 0;
}

[[gnu::visibility("default")]] sighandler_t signal(int signal, sighandler_t handler) noexcept {
  return set_handler(next_signal, signal, handler);
}
[[gnu::visibility("default")]] sighandler_t sysv_signal(int signal, sighandler_t handler) noexcept {
  return set_handler(next_sysv_signal, signal, handler);
}
[[gnu::visibility("default")]] sighandler_t __sysv_signal(int signal, sighandler_t handler) noexcept {
  return set_handler(next_internal_sysv_signal, signal, handler);
}
[[gnu::visibility("default")]] sighandler_t bsd_signal(int signal, sighandler_t handler) noexcept {
  return set_handler(next_bsd_signal, signal, handler);
}

}  // extern "C"

/// A program that resets every signal in a loop would otherwise die of the next tick. So the sampling signal is virtual
/// for the program: it may set the signal to default or ignored and ask for it, and gets answers from its own point of
/// view. If it installs a handler of its own, the signal is left to it and sampling ends.
///
/// A signal that ends the process has our handler while the program leaves it at its default; SIGTERM has ours around a
/// handler of the program. Signals that the program ignores or handles itself are left alone.

#include "guest/signals.hpp"

#include <atomic>
#include <errno.h>

#include "guest/guest.hpp"
#include "guest/signal_sets.hpp"
#include "platform/fault_signals.hpp"
#include "platform/next_definition.hpp"
#include "platform/owned_lock.hpp"
#include "platform/signal_mask.hpp"
#include "platform/threads.hpp"

namespace refrain::guest {
namespace {

platform::NextDefinition<int(int, const struct sigaction*, struct sigaction*)> next_sigaction{"sigaction"};

bool is_handler(sighandler_t handler) { return handler != SIG_DFL && handler != SIG_IGN; }

/// sigaction(2) on the action in the kernel. Async-signal-safe.
int kernel_sigaction(int signal, const struct sigaction* action, struct sigaction* old) {
  auto* next = next_sigaction.get();
  return next ? next(signal, action, old) : -1;
}

// ---- handlers on alternate stacks -----------------------------------------------------------------------------------

/// By signal: whether we have added the sampling signal to the mask of its handler.
std::atomic<bool> masked[_NSIG];

bool is_signal(int signal) { return signal > 0 && signal < _NSIG; }

bool runs_on_alternate_stack(const struct sigaction& action) {
  const bool handled = (action.sa_flags & SA_SIGINFO) || is_handler(action.sa_handler);
  return handled && (action.sa_flags & SA_ONSTACK);
}

bool needs_mask(const struct sigaction& action, int tick) {
  return runs_on_alternate_stack(action) && sigismember(&action.sa_mask, tick) != 1;
}

/// The action to pass to the kernel when the program sets `action`.
struct sigaction action_for_kernel(int signal, const struct sigaction& action) {
  struct sigaction result = action;
  // A child between vfork and exec has actions of its own, but shares our memory.
  if (!callbacks.is_original_process() || !is_signal(signal)) return result;
  const int own = hidden_signal();
  const bool adds = own != 0 && needs_mask(action, own);
  if (adds) sigaddset(&result.sa_mask, own);
  masked[signal].store(adds, std::memory_order_relaxed);
  return result;
}

bool is_masked_by_us(int signal) { return is_signal(signal) && masked[signal].load(std::memory_order_relaxed); }

// ---- signals that end a process -------------------------------------------------------------------------------------

/// Whether the default of a signal ends the process, with or without a core, and we watch it. We leave SIGTRAP to
/// debuggers, and SIGUSR1 and SIGUSR2 to launchers and batch systems, which send them as warnings.
bool is_ending(int signal) {
  static constexpr int others[] = {SIGKILL, SIGTRAP, SIGUSR1, SIGUSR2,
                                   // by default these are ignored, stop or continue
                                   SIGCHLD, SIGURG, SIGWINCH, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
  for (const int other : others)
    if (signal == other) return false;
  if (signal == callbacks.signal_of_handler()) return false;
  // The numbers between the two ranges are reserved for the C library.
  return (signal >= 1 && signal <= SIGSYS) || (signal >= SIGRTMIN && signal <= SIGRTMAX);
}

/// Calls f(signal) for every signal that is_ending().
template <class F>
void for_each_ending(F&& f) {
  for (int signal = 1; signal < _NSIG; ++signal)
    if (is_ending(signal)) f(signal);
}

/// By signal, including the sampling signal: the action that the program believes in force. Zero is SIG_DFL.
struct sigaction of_program[_NSIG];
std::atomic<bool> watching{false};
SignalHandler default_handler = nullptr, warning_handler = nullptr, fault_handler = nullptr;
std::atomic<SignalHandler> own_termination_handler{nullptr};

bool is_own_handler(const struct sigaction& action) {
  const SignalHandler handler = action.sa_sigaction;
  return (action.sa_flags & SA_SIGINFO) && handler &&
         (handler == default_handler || handler == warning_handler || handler == fault_handler);
}

bool is_watched(int signal) { return watching.load(std::memory_order_acquire) && is_ending(signal); }

/// Lets one thread at a time change actions. A handler may interrupt that thread and change them, too, so each change
/// ends with a look at what is in force.
platform::OwnedLock changing;

/// Installs our handler if the program's action, which is in force, calls for one.
void cover(int signal) {
  struct sigaction ours = of_program[signal];
  if (ours.sa_handler == SIG_DFL) {
    ours.sa_sigaction = default_handler;
    ours.sa_flags = SA_SIGINFO | SA_RESTART;
    // An overflown stack has no room for a handler. For other signals an alternate stack may be too small for the
    // kernel.
    if (signal == SIGSEGV || signal == SIGBUS) ours.sa_flags |= SA_ONSTACK;
    sigfillset(&ours.sa_mask);
  } else if (is_handler(ours.sa_handler) && signal == SIGTERM) {
    own_termination_handler.store(ours.sa_sigaction);
    ours.sa_sigaction = warning_handler;
    ours.sa_flags |= SA_SIGINFO;
  } else {
    return;
  }
  kernel_sigaction(signal, &ours, nullptr);
}

/// Adopts an action that has come into force since the last look.
void adopt(int signal) {
  struct sigaction now;
  if (kernel_sigaction(signal, nullptr, &now) != 0 || is_own_handler(now)) return;
  of_program[signal] = now;
  cover(signal);
}

/// Lets the next definition make a change, and adopts it. In a process that is not the measured one, as between vfork
/// and exec, it only makes the change.
template <class Change>
auto changed(int signal, Change&& change) {
  if (!callbacks.is_original_process()) return change();
  const platform::Locked one_at_a_time(changing);
  auto result = change();
  adopt(signal);
  return result;
}

/// The previous handler, as the simple interfaces must return it.
sighandler_t as_program_sees(int signal, sighandler_t before) {
  struct sigaction action {};
  action.sa_handler = before;
  action.sa_flags = SA_SIGINFO;
  return is_own_handler(action) ? of_program[signal].sa_handler : before;
}

// ---- the sampling signal --------------------------------------------------------------------------------------------

bool is_sampling(int signal) { return signal != 0 && signal == callbacks.sampling_signal() && callbacks.is_measured(); }

using NextSignal = platform::NextDefinition<sighandler_t(int, sighandler_t)>;

/// Implements the simple interfaces.
sighandler_t set_handler(NextSignal& definition, int signal, sighandler_t handler) {
  auto* next = definition.get();
  if (is_sampling(signal)) {
    if (!is_handler(handler)) {
      const sighandler_t before = of_program[signal].sa_handler;
      of_program[signal].sa_handler = handler;
      return before;
    }
    callbacks.signal_taken();
    if (next) next(signal, handler);
    return of_program[signal].sa_handler;
  }
  if (!next) return SIG_ERR;
  if (!is_watched(signal)) return next(signal, handler);
  return changed(signal, [&] { return as_program_sees(signal, next(signal, handler)); });
}

int set_action(int signal, const struct sigaction* action, struct sigaction* old) {
  auto* next = next_sigaction.get();
  if (!next) {
    errno = ENOSYS;
    return -1;
  }
  if (!is_sampling(signal)) {
    const bool was_masked = is_masked_by_us(signal);
    struct sigaction for_kernel;
    if (action) for_kernel = action_for_kernel(signal, *action);
    auto change = [&] {
      const int result = next(signal, action ? &for_kernel : nullptr, old);
      if (result == 0 && old && is_own_handler(*old)) *old = of_program[signal];
      return result;
    };
    const int result = action && is_watched(signal) ? changed(signal, change) : change();
    if (result == 0 && old && was_masked) sigdelset(&old->sa_mask, callbacks.sampling_signal());
    return result;
  }
  const struct sigaction before = of_program[signal];
  if (action) {
    if (is_handler(action->sa_handler) || (action->sa_flags & SA_SIGINFO)) {
      callbacks.signal_taken();
      if (next(signal, action, nullptr) != 0) return -1;
    } else {
      of_program[signal] = *action;
    }
  }
  if (old) *old = before;
  return 0;
}

/// F(name) for `signal` and its relatives, which differ in flags only.
#define REFRAIN_SIMPLE_INTERFACES(F) F(signal) F(sysv_signal) F(__sysv_signal) F(bsd_signal) F(ssignal)

#define REFRAIN_NEXT(name) NextSignal next_##name{#name};
REFRAIN_SIMPLE_INTERFACES(REFRAIN_NEXT)
NextSignal next_sigset{"sigset"};
platform::NextDefinition<int(int)> next_sigignore{"sigignore"};
platform::NextDefinition<int(int, int)> next_siginterrupt{"siginterrupt"};

}  // namespace

void protect_alternate_stacks() {
  find_mask_functions();
  const int own = callbacks.sampling_signal();
  if (own == 0) return;
  for (int signal = 1; signal < _NSIG; ++signal) {
    struct sigaction action;
    if (signal == own || kernel_sigaction(signal, nullptr, &action) != 0 || !needs_mask(action, own)) continue;
    sigaddset(&action.sa_mask, own);
    masked[signal].store(kernel_sigaction(signal, &action, nullptr) == 0, std::memory_order_relaxed);
  }
}

void give_back_handler_masks() {
  const int own = callbacks.sampling_signal();
  for (int signal = 1; signal < _NSIG; ++signal) {
    struct sigaction action;
    if (!masked[signal].exchange(false) || kernel_sigaction(signal, nullptr, &action) != 0 ||
        !runs_on_alternate_stack(action))
      continue;
    sigdelset(&action.sa_mask, own);
    kernel_sigaction(signal, &action, nullptr);
  }
}

void watch_ending_signals(SignalHandler by_default, SignalHandler warning) {
  // Looked up now, because later calls may come from handlers.
#define REFRAIN_FIND(name) next_##name.get();
  REFRAIN_SIMPLE_INTERFACES(REFRAIN_FIND)
  next_sigset.get();
  next_sigignore.get();
  next_siginterrupt.get();
  const platform::Locked one_at_a_time(changing);
  default_handler = by_default;
  warning_handler = warning;
  for_each_ending([](int signal) {
    if (kernel_sigaction(signal, nullptr, &of_program[signal]) == 0) cover(signal);
  });
  watching.store(true, std::memory_order_release);
}

void unwatch_ending_signals() {
  if (!callbacks.is_original_process()) changing.reset();
  if (!watching.load(std::memory_order_acquire)) return;
  const platform::Locked one_at_a_time(changing);
  for_each_ending([](int signal) {
    struct sigaction now;
    if (kernel_sigaction(signal, nullptr, &now) == 0 && is_own_handler(now))
      kernel_sigaction(signal, &of_program[signal], nullptr);
  });
  watching.store(false, std::memory_order_release);
}

void set_default(int signal) {
  struct sigaction by_default {};
  kernel_sigaction(signal, &by_default, nullptr);
}

void give_back_signals() {
  unwatch_ending_signals();
  give_back_handler_masks();
  if (const int signal = callbacks.sampling_signal()) set_default(signal);
  give_back_mask();
}

void take_faults(SignalHandler handler) {
  if (!watching.load(std::memory_order_acquire)) return;
  const platform::Locked one_at_a_time(changing);
  fault_handler = handler;
  struct sigaction ours {};
  ours.sa_sigaction = handler;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  for (const int signal : platform::fault_signals) {
    adopt(signal);  // in case the program has installed a handler by a raw system call
    kernel_sigaction(signal, &ours, nullptr);
  }
}

void give_back_faults() {
  if (!watching.load(std::memory_order_acquire)) return;
  const platform::Locked one_at_a_time(changing);
  for (const int signal : platform::fault_signals) {
    struct sigaction now;
    if (kernel_sigaction(signal, nullptr, &now) != 0 || now.sa_sigaction != fault_handler) continue;
    kernel_sigaction(signal, &of_program[signal], nullptr);
    cover(signal);
  }
}

void call_own_handler(int signal, siginfo_t* info, void* context) {
  const SignalHandler handler = own_termination_handler.load();
  if ((of_program[signal].sa_flags & static_cast<int>(SA_RESETHAND)) && callbacks.is_original_process()) {
    const platform::Locked one_at_a_time(changing);
    of_program[signal].sa_handler = SIG_DFL;  // as the kernel has done
    cover(signal);
  }
  if (handler) handler(signal, info, context);
}

}  // namespace refrain::guest

using namespace refrain::guest;

extern "C" {

REFRAIN_EXPORT int sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
  return set_action(signal, action, old);
}
REFRAIN_EXPORT int __sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
  return set_action(signal, action, old);
}

#define REFRAIN_DEFINE(name)                                                    \
  REFRAIN_EXPORT sighandler_t name(int signal, sighandler_t handler) noexcept { \
    return set_handler(next_##name, signal, handler);                           \
  }
REFRAIN_SIMPLE_INTERFACES(REFRAIN_DEFINE)

REFRAIN_EXPORT sighandler_t sigset(int signal, sighandler_t handler) noexcept {
  auto* next = next_sigset.get();
  if (!next) return SIG_ERR;
  sigset_t only_this, mask;
  sigemptyset(&only_this);
  sigaddset(&only_this, signal);
  if (is_sampling(signal)) {
    change_mask_of_program(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &only_this, &mask);
    const bool held = sigismember(&mask, signal) == 1;
    const sighandler_t view =
        handler == SIG_HOLD ? of_program[signal].sa_handler : set_handler(next_sigset, signal, handler);
    return held ? SIG_HOLD : view;
  }
  if (!is_watched(signal)) return next(signal, handler);
  if (!callbacks.is_original_process() || handler == SIG_ERR) return as_program_sees(signal, next(signal, handler));
  // sigset changes the mask, too, so it is done here.
  const refrain::platform::Locked one_at_a_time(changing);
  refrain::platform::change_signal_mask(SIG_BLOCK, nullptr, &mask);
  struct sigaction action {};
  kernel_sigaction(signal, nullptr, &action);
  const sighandler_t before = sigismember(&mask, signal) == 1 ? SIG_HOLD : as_program_sees(signal, action.sa_handler);
  if (handler == SIG_HOLD) {
    refrain::platform::change_signal_mask(SIG_BLOCK, &only_this, nullptr);
    return before;
  }
  action = {};
  action.sa_handler = handler;
  kernel_sigaction(signal, &action, nullptr);
  adopt(signal);
  refrain::platform::change_signal_mask(SIG_UNBLOCK, &only_this, nullptr);
  return before;
}
REFRAIN_EXPORT int sigignore(int signal) noexcept {
  auto* next = next_sigignore.get();
  if (!next) return -1;
  if (is_sampling(signal)) {
    of_program[signal].sa_handler = SIG_IGN;
    return 0;
  }
  return is_watched(signal) ? changed(signal, [&] { return next(signal); }) : next(signal);
}
REFRAIN_EXPORT int siginterrupt(int signal, int interrupt) noexcept {
  auto* next = next_siginterrupt.get();
  if (!next) return -1;
  if (is_sampling(signal)) return 0;  // the program has no handler for it
  if (!is_watched(signal) || !callbacks.is_original_process()) return next(signal, interrupt);
  const refrain::platform::Locked one_at_a_time(changing);
  kernel_sigaction(signal, &of_program[signal], nullptr);
  const int result = next(signal, interrupt);
  adopt(signal);
  return result;
}

}  // extern "C"

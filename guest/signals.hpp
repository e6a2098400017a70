#pragma once
/// The program's own use of signals, and ours under it.
///
/// Some signals have a handler of ours in the kernel: the sampling signal, and those that end a process by default
/// (endings.hpp). The program does not see it: what it sets and asks for is answered from its own point of view.

#include <signal.h>

namespace refrain::runtime {

using SignalHandler = void (*)(int, siginfo_t*, void*);

struct EndingHandlers {
  SignalHandler by_default;  ///< where the program has left a signal at its default
  SignalHandler warning;     ///< around the program's own handler of SIGTERM
};

/// Puts our handlers below the program's view. Ordinary context, once.
void watch_ending_signals(const EndingHandlers& handlers);
/// Leaves all signals as the program has set them; also in a forked child.
void unwatch_ending_signals();

/// For a short time faults go to `handler`, whatever the program has set; then they are the program's again.
/// Async-signal-safe.
void take_faults(SignalHandler handler);
void give_back_faults();

/// Calls the program's own handler of SIGTERM from ours. Async-signal-safe.
void call_own_handler(int signal, siginfo_t* info, void* context);

/// sigaction(2) on what the kernel has. Async-signal-safe.
int kernel_sigaction(int signal, const struct sigaction* action, struct sigaction* old);

}  // namespace refrain::runtime

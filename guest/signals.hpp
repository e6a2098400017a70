#pragma once
/// The program's own use of signals, with our handlers beneath it.
///
/// Some signals have a handler of ours in the kernel: the sampling signal, and those that end a process by default
/// (endings.hpp). The program does not see that: its settings and questions are answered from its own point of view.
///
/// An alternate stack may have no room for the kernel's frame of one more signal (AT_MINSIGSTKSZ: 2 to 12 KB, by the
/// processor's registers, of a stack of often 8 KB), and no handler can look before that frame is written. So the
/// sampling signal is added, unseen, to the mask of every handler on an alternate stack.

#include <signal.h>

namespace refrain::guest {

/// Protects handlers on alternate stacks that exist already. Call it once the sampling signal is chosen.
void protect_alternate_stacks();
/// Removes the sampling signal from the masks of all handlers, when it is the program's, or no longer used.
void give_back_handler_masks();

using SignalHandler = void (*)(int, siginfo_t*, void*);

/// Installs our handlers beneath the program's view: `by_default` for signals that the program leaves at their default,
/// `warning` around its own handler of SIGTERM. Ordinary context, once.
void watch_ending_signals(SignalHandler by_default, SignalHandler warning);
/// Restores these signals to what the program has set.
void unwatch_ending_signals();

/// In a forked child: restores signals, handlers and the mask to what the program has set.
void give_back_signals();

/// Directs faults to `handler` for a short time, whatever the program has set; give_back_faults() restores its
/// handlers. Async-signal-safe.
void take_faults(SignalHandler handler);
void give_back_faults();

/// Calls the program's own handler of SIGTERM from ours. Async-signal-safe.
void call_own_handler(int signal, siginfo_t* info, void* context);

/// Sets the signal to its default in the kernel. Async-signal-safe.
void set_default(int signal);

}  // namespace refrain::guest

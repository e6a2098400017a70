#pragma once
/// The program's own use of signals, and ours under it.
///
/// Some signals have a handler of ours in the kernel: the sampling signal, and those that end a process by default
/// (endings.hpp). The program does not see it: what it sets and asks for is answered from its own point of view.
///
/// On an alternate stack there may be no room for the kernel's frame of one more signal (AT_MINSIGSTKSZ: 2 to 12 KB by
/// the processor's registers, of a stack of often 8 KB), and no handler can look before the frame is written. So the
/// sampling signal is added, unseen, to the mask of handlers on an alternate stack.

#include <signal.h>

namespace refrain::guest {

/// Once the sampling signal is chosen: takes care of handlers on alternate stacks that are there already.
void protect_alternate_stacks();
/// Takes the sampling signal out of the masks of all handlers: it is the program's, or there is none any more.
void give_back_handler_masks();

using SignalHandler = void (*)(int, siginfo_t*, void*);

/// Puts our handlers below the program's view: `by_default` where the program has left a signal at its default,
/// `warning` around its own handler of SIGTERM. Ordinary context, once.
void watch_ending_signals(SignalHandler by_default, SignalHandler warning);
/// Leaves these signals as the program has set them.
void unwatch_ending_signals();

/// In a forked child: signals, handlers and the mask are as the program has set them.
void give_back_signals();

/// For a short time faults go to `handler`, whatever the program has set; then they are the program's again.
/// Async-signal-safe.
void take_faults(SignalHandler handler);
void give_back_faults();

/// Calls the program's own handler of SIGTERM from ours. Async-signal-safe.
void call_own_handler(int signal, siginfo_t* info, void* context);

/// The signal is at its default in the kernel. Async-signal-safe.
void set_default(int signal);

}  // namespace refrain::guest

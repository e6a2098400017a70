#pragma once
/// The sampling signal in the program's masks and sets of signals.
///
/// Masks stay the program's: where it blocks the sampling signal, the signal is blocked, and sampling/ counts what is
/// missing. There is one exception: a thread that inherits the signal blocked (threads are often made with all signals
/// blocked, so that others get them) begins with it unblocked, and is told that it is blocked until it changes that
/// itself.
///
/// A program that waits for signals in general (sigwait and its relatives, signalfd) receives no tick; by signalfd it
/// receives no signal of ours at all. One that waits for a few, with ours among them, has a use of its own for it: then
/// it gets it, as when it installs a handler.
///
/// A fiber that was made with a small stack may have no room for a tick: the signal is blocked while it runs.

#include <signal.h>

namespace refrain::guest {

/// Looks up the functions that may be called from handlers. Ordinary context, once.
void find_mask_functions();

/// The calling thread begins to be sampled.
void unblock_inherited_signal();

/// Our handler has got a signal that is no tick. Where the thread believes it blocked, it is blocked from now on, and
/// sent once more: another thread may wait for it. sampling/ calls this. Async-signal-safe.
void take_foreign_signal(int signal, siginfo_t* info, void* context);

/// Around fork the sampling signal is blocked in the calling thread, whatever the program believes: a tick during fork
/// makes the kernel start it over, and with a large process and a short period it never ends.
void block_during_fork();
void unblock_after_fork();
/// In the child: the mask is what the program believes.
void give_back_mask();

/// pthread_sigmask as the program calls it. Async-signal-safe.
int change_mask_of_program(int how, const sigset_t* set, sigset_t* old);

}  // namespace refrain::guest

#pragma once
/// The sampling signal in the program's masks and sets of signals.
///
/// Masks stay the program's: where it blocks the sampling signal, the signal is blocked, and sampling/ counts the
/// missing ticks. There is one exception: a thread that inherits the signal blocked (threads are often made with all
/// signals blocked, so that others get them) begins with it unblocked, and is told that it is blocked until it changes
/// that itself.
///
/// A program that waits for signals in general (sigwait and its relatives, signalfd) receives no tick; by signalfd it
/// receives no signal of our number at all. A program that waits for a few signals, ours among them, has a use of its
/// own for it, and gets the signal, as when it installs a handler.
///
/// A fiber with a small stack may have no room for a tick, so the signal is blocked while it runs.

#include <signal.h>

namespace refrain::guest {

/// Looks up the functions that may be called from handlers. Ordinary context, once.
void find_mask_functions();

/// Called when sampling of the calling thread is about to begin. Unblocks the sampling signal if it was inherited
/// blocked.
void unblock_inherited_signal();

/// Called by sampling/ when our handler has received a signal that is no tick. If the thread believes the signal
/// blocked, it is blocked from now on and sent once more, since another thread may wait for it. Async-signal-safe.
void take_foreign_signal(int signal, siginfo_t* info, void* context);

/// Blocks the sampling signal in the calling thread during fork, whatever the program believes. A tick makes the kernel
/// start fork over, which never ends with a large process and a short period.
void block_during_fork();
void unblock_after_fork();
/// In the child: sets the mask to what the program believes.
void give_back_mask();

/// pthread_sigmask as the program calls it. Async-signal-safe.
int change_mask_of_program(int how, const sigset_t* set, sigset_t* old);

}  // namespace refrain::guest

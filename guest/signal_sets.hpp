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
/// On an alternate stack there may be no room for the kernel's frame of one more signal (AT_MINSIGSTKSZ: 2 to 12 KB by
/// the processor's registers, of a stack of often 8 KB), and no handler can look before the frame is written. So the
/// signal waits while a handler on an alternate stack runs, and while a fiber does that was made with a small stack.

#include <signal.h>

namespace refrain::runtime {

/// The calling thread begins to be sampled.
void unblock_inherited_signal();

/// Our handler has got a signal that is no tick. Where the thread believes it blocked, it is blocked from now on, and
/// sent once more: another thread may wait for it. sampling/ calls this. Async-signal-safe.
void take_foreign_signal(int signal, siginfo_t* info, void* context);

/// In a new child process: the mask is to be what the program believes.
void forget_inherited_signal();

/// Blocks the sampling signal in this thread whatever the program believes; what it believes comes back by
/// change_mask_of_program. Async-signal-safe.
void block_sampling_signal();
/// pthread_sigmask as the program calls it. Async-signal-safe.
int change_mask_of_program(int how, const sigset_t* set, sigset_t* old);

/// What the kernel is to be told of an action that the program sets.
struct sigaction action_for_kernel(int signal, const struct sigaction& action);
/// Whether we have added the sampling signal to the mask of the signal's present handler.
bool is_masked_by_us(int signal);

/// Once the sampling signal is chosen: the same for handlers that are there already.
void protect_alternate_stacks();
/// Takes the sampling signal out of the masks of all handlers: it is the program's, or there is none any more.
void give_back_handler_masks();

}  // namespace refrain::runtime

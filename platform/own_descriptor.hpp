#pragma once
/// Our descriptors among those of the program: how many we may have, and whether a number is still ours.
///
/// A program may close any descriptor (loops up to the limit, close_range) and get the same number for a file of its
/// own. So each file of ours is marked: its owner is the thread that it is for, and its signal tells the purpose.
/// Asking for the mark (fcntl) harms no file, whoever it belongs to. A descriptor that another thread closes between
/// the question and the use goes unnoticed.
///
/// errno is preserved unless it reports a failure.

#include <cstdint>

namespace refrain::platform {

/// The purpose of a descriptor.
enum class DescriptorUse : std::uint8_t {
  TaskClock,  ///< all threads together: a sixteenth of RLIMIT_NOFILE, and 256 at most
  Metric,     ///< the user asks for it: an eighth
  RunDelay,   ///< all threads together: a sixty-fourth, and 64 at most; other threads ask less often
};

/// Reserves one of the descriptors for this use. The rest is left to the program: with 1,024 descriptors it can open
/// 900 besides those of MPI, whatever the number of its threads. False: there is none left, and errno is EMFILE.
[[nodiscard]] bool reserve_descriptor(DescriptorUse use);
void release_descriptor(DescriptorUse use);

/// Moves a new descriptor out of the way of those that the program opens, and returns its new number. It is closed on
/// exec. -1: it was closed, because there was room only among the standard descriptors, which the program may have
/// closed and still write to. Ordinary context.
int move_out_of_the_way(int descriptor);

/// Moves the descriptor that the calling thread has just opened, after reserve_descriptor(), out of the way and
/// marks it. `opened` is negative if opening failed. -1 with errno set: nothing is kept, and the reservation is
/// released.
int keep_descriptor(int opened, DescriptorUse use, int signal);

/// Marks a descriptor that the calling thread has just opened for itself. The signal is not sent unless O_ASYNC is set.
[[nodiscard]] bool mark_descriptor(int descriptor, int signal);

/// Whether the number refers to a file that was marked so for this thread of the process. Two system calls of 0.1 us.
/// Async-signal-safe.
[[nodiscard]] bool is_marked_descriptor(int descriptor, int os_thread_id, int signal);

}  // namespace refrain::platform

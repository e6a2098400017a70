#pragma once
/// Descriptors of ours among those of the program: where they stand, and whether a number still is ours.
///
/// A program may close any descriptor (loops up to the limit, close_range) and get the same number for a file of its
/// own. So each of ours is marked, with the file and not with the number: as its owner it names the thread that it is
/// for, and as its signal one that tells what it is for. Asking for the mark (fcntl) harms no file, whoever it belongs
/// to. What another thread closes between the question and the use cannot be seen.
///
/// Errno is kept, but where it tells of a failure.

#include <cstdint>

namespace refrain::platform {

/// What a thread needs a descriptor for.
enum class DescriptorUse : std::uint8_t {
  TaskClock,  ///< all threads together: a sixteenth of what the process is allowed (RLIMIT_NOFILE), and 256 at most
  Metric,     ///< the user asks for it: an eighth
  RunDelay,   ///< of all threads together a sixty-fourth, and 64 at most: the others ask less often
};

/// Reserves one of the descriptors that may be open for this use. The rest is the program's: one with 1,024 descriptors
/// that opens 900 beside those of its MPI gets them, whatever the number of its threads. False: there is none, and
/// errno is EMFILE.
[[nodiscard]] bool reserve_descriptor(DescriptorUse use);
void release_descriptor(DescriptorUse use);

/// Moves a new descriptor out of the way of those that the program opens; the number that it has now. Closed on exec.
/// -1, and it is closed: there was no room but among the standard descriptors, which the program may have closed and
/// still write to. Ordinary context.
int move_out_of_the_way(int descriptor);

/// What the calling thread has just opened for itself, after reserve_descriptor() for this use (`opened` is negative
/// when that failed): out of the way and marked. -1 with errno set: nothing is kept, and the reservation is released.
int keep_descriptor(int opened, DescriptorUse use, int signal);

/// Marks a descriptor that the calling thread has just opened for itself. The signal is not sent unless O_ASYNC is set.
[[nodiscard]] bool mark_descriptor(int descriptor, int signal);

/// Whether the number is that of a file marked so by this thread of the process. Two system calls of 0.1 us.
/// Async-signal-safe.
[[nodiscard]] bool is_marked_descriptor(int descriptor, int os_thread_id, int signal);

}  // namespace refrain::platform

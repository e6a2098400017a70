#pragma once
/// Thread ids, stacks and CPU times, and a barrier on all threads.

#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <signal.h>

namespace refrain::platform {

/// Addresses [low, high) of a stack that may be read without asking the kernel.
struct StackBounds {
  std::uintptr_t low;
  std::uintptr_t high;
  bool contains(std::uintptr_t address) const { return address - low < high - low; }
};

int thread_id();   // Async-signal-safe.
int process_id();  // Async-signal-safe.

/// Bounds of the calling thread's own stack. For the main thread `low` is 1 (it grows). Ordinary context only.
StackBounds own_stack();

/// The smallest stack on which a sampling signal may arrive: it has room for the kernel's frame, for the handler, and
/// for what the program needs. Async-signal-safe.
std::size_t min_stack_for_handlers();

/// Whether the caller runs on the alternate signal stack of its thread. Async-signal-safe.
bool is_on_alternate_stack();

/// Whether the aligned word at `address` can be read. Asks the kernel (about 200 ns). Async-signal-safe.
bool readable_word(std::uintptr_t address);

/// CPU time in nanoseconds of another thread of this process; -1: it has ended. Async-signal-safe.
std::int64_t thread_cpu_ns_of(int os_thread_id);

/// The time of the kernel's ticks that found a thread running, in nanoseconds: each counts as a whole tick for the
/// mode, user or kernel, that it found. Where the kernel keeps precise accounts (nohz_full), it is the time itself.
struct TickTimes {
  std::int64_t all, user;
};
/// Of a thread of this process; 0: the calling one. Two system calls. Async-signal-safe.
TickTimes tick_times_of(int os_thread_id);

void pause_ms(long ms);  // Async-signal-safe.

/// While an object lives, a request to cancel this thread waits. Async-signal-safe.
class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_;
};

/// While an object lives, no handler of the program runs on this thread, except for faults. Async-signal-safe.
class NoSignals {
 public:
  NoSignals();
  ~NoSignals();
  /// Excepts the signal of ticks: its handler returns, and late ticks would be a loss.
  static void never_hold(int signal);
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

/// Makes every thread of the process execute a full memory barrier. False: the kernel cannot.
bool barrier_on_all_threads();

}  // namespace refrain::platform

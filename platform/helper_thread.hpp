#pragma once
/// A thread for one piece of work that may neither run on the stack of the thread that needs it nor hold that thread up
/// for ever: what a signal handler of a dying process has to write. The kernel makes the thread, libc does not know of
/// it: it uses the thread-local variables of its maker, which waits for it; errno alone is its own, where the process
/// has one HelperThread and the runtime its own functions (own_functions.c).

#include <atomic>
#include <cstdint>

namespace refrain::platform {

class HelperThread {
 public:
  enum class Result : std::uint8_t {
    Done,
    Faulted,      ///< the work ended in `leave`
    TimedOut,     ///< it goes on: nothing may be done any more but to end the process
    Unavailable,  ///< no memory or no thread: the work has not begun
  };

  /// Reserves the stack. Ordinary context. False: no memory.
  bool prepare();

  enum class Signals : std::uint8_t { Wait, Come };

  /// Runs `work` and waits for it, at most `timeout_ns`; 0: as long as it takes. While it uses its processor, the time
  /// begins anew, for some seconds. All signals wait meanwhile, but for faults of the work; those of the calling thread
  /// may come. One thread at a time. Keeps errno. Async-signal-safe.
  Result run(void (*work)(void*), void* argument, std::int64_t timeout_ns, Signals signals = Signals::Wait);

  /// The calling thread is the one that works. Async-signal-safe.
  bool is_this_thread() const;
  /// Ends the work where it is; for a handler of faults on this thread. Async-signal-safe.
  [[noreturn]] void leave();

 private:
  static int body(void* self);

  void* stack_ = nullptr;
  std::atomic<int> thread_{0};  ///< the kernel's number of it, 0 when it has ended
  std::atomic<bool> faulted_{false};
  void (*work_)(void*) = nullptr;
  void* argument_ = nullptr;
};

}  // namespace refrain::platform

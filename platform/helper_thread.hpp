#pragma once
/// A thread for one piece of work that can neither run on the stack of the thread that needs it nor keep that thread
/// waiting forever: the writing that a signal handler of a dying process has to do. The kernel makes the thread, and
/// libc does not know about it: it uses the thread-local variables of its maker, which waits for it. Only errno is its
/// own, provided that the process has one HelperThread and the runtime has its own functions (own_functions.c).

#include <atomic>
#include <cstdint>

namespace refrain::platform {

class HelperThread {
 public:
  enum class Result : std::uint8_t {
    Done,
    Faulted,      ///< the work ended in `leave`
    TimedOut,     ///< the work goes on, so the process must end
    Unavailable,  ///< no memory or no thread: the work was not begun
  };

  /// Reserves the stack. Ordinary context. False: no memory.
  bool prepare();

  enum class Signals : std::uint8_t { Wait, Come };

  /// Runs `work` and waits for it, at most `timeout_ns` nanoseconds; 0: as long as it takes. While the work uses its
  /// processor, the time begins anew, for some seconds. All signals wait meanwhile, except faults of the work; with
  /// Signals::Come those of the calling thread do not wait. One thread at a time. Preserves errno. Async-signal-safe.
  Result run(void (*work)(void*), void* argument, std::int64_t timeout_ns, Signals signals = Signals::Wait);

  /// Whether the calling thread is the helper. Async-signal-safe.
  bool is_this_thread() const;
  /// Ends the work where it is; for a handler of faults on the helper. Async-signal-safe.
  [[noreturn]] void leave();

 private:
  static int body(void* self);

  void* stack_ = nullptr;
  std::atomic<int> thread_{0};  ///< the kernel's thread id; 0: it has ended
  std::atomic<bool> faulted_{false};
  void (*work_)(void*) = nullptr;
  void* argument_ = nullptr;
};

}  // namespace refrain::platform

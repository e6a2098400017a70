#pragma once
/// How long a thread was ready to run and had no processor: woken, preempted, after a yield, or throttled by a quota.
/// The scheduler counts it for each thread.
///
/// Source: the second number of /proc/self/task/TID/schedstat (Linux, Documentation/scheduler/sched-stats.rst),
/// nanoseconds. It grows when the thread gets a processor, so a thread that runs knows all of it. It needs no
/// privilege. Kernels without CONFIG_SCHED_INFO have no such file; where delay accounting is off and CONFIG_SCHEDSTATS
/// not there either, it says 0.
///
/// Errno is kept.

#include <cstdint>

namespace refrain::platform {

class RunDelay {
 public:
  static constexpr std::int64_t unknown = -1;

  /// For the calling thread, with a descriptor that is kept. False: there is none for it. Ordinary context.
  bool open();
  /// By any thread of the process.
  void close();
  /// In a forked child: its copy of the descriptor is closed.
  void close_copy();

  /// Of the thread, since it began; `unknown`: no descriptor is kept, or the program has closed it. A file of its own
  /// is not read, unless it has the thread as its owner (F_SETOWN: sockets and pipes, which cannot be read at a place).
  /// Two system calls. Async-signal-safe.
  std::int64_t ns() const;
  /// The same of any thread of the process, by a file that is opened for that. Some six system calls. Ordinary context.
  static std::int64_t ns_of(int os_thread_id);

 private:
  int descriptor_ = 0;  ///< 0: none
  int os_thread_id_ = 0;
};

}  // namespace refrain::platform

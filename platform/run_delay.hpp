#pragma once
/// How long a thread was ready to run but had no processor: after being woken, preempted, yielding, or throttled by a
/// quota. The scheduler counts it for each thread.
///
/// Source: the second number of /proc/self/task/TID/schedstat (Linux, Documentation/scheduler/sched-stats.rst), in
/// nanoseconds. It grows when the thread gets a processor, so a running thread knows all of it. It needs no privilege.
/// Kernels without CONFIG_SCHED_INFO have no such file; it says 0 where delay accounting is off and CONFIG_SCHEDSTATS
/// is missing.
///
/// errno is preserved.

#include <cstdint>

namespace refrain::platform {

class RunDelay {
 public:
  static constexpr std::int64_t unknown = -1;

  /// For the calling thread, with a descriptor that is kept. False: there is none left for it. Ordinary context.
  bool open();
  /// May be called by any thread of the process.
  void close();
  /// For a forked child: closes its copy of the descriptor.
  void close_copy();

  /// Run delay of the thread since it began, in nanoseconds; `unknown`: no descriptor is kept, or the program has
  /// closed it. A file of the program is not read in its place, unless the thread is its owner (F_SETOWN: sockets and
  /// pipes, which cannot be read at an offset). Two system calls. Async-signal-safe.
  std::int64_t ns() const;
  /// The same for any thread of the process, by a file that is opened for it. Some six system calls. Ordinary context.
  static std::int64_t ns_of(int os_thread_id);

 private:
  int descriptor_ = 0;  ///< 0: none
  int os_thread_id_ = 0;
};

}  // namespace refrain::platform

#pragma once
/// The cores (hardware threads, as the kernel counts them) that threads of this process may run on.

#include <cstddef>
#include <cstdint>

namespace refrain::platform {

/// A set of cores, by the kernel's numbers.
struct Cores {
  static constexpr std::size_t most = 8192;  ///< the most that Linux can be built for
  std::uint64_t words[most / 64];

  bool has(std::size_t core) const { return words[core / 64] >> core % 64 & 1; }
  void add(const Cores& others) {
    for (std::size_t i = 0; i < most / 64; ++i) words[i] |= others.words[i];
  }
};

/// Adds the cores that a thread may run on: its affinity mask, within the cpuset of its control group. `os_thread_id`
/// 0: the calling thread. False: the thread has ended. Async-signal-safe.
bool add_cores_of(int os_thread_id, Cores& cores);

/// How long quotas have held back threads so far, in the process's control group and the groups around it, summed over
/// these groups, in ns (cpu.stat: v2 throttled_usec, v1 throttled_time); -1: no such file tells. Opens a few files.
/// Ordinary context.
std::int64_t throttled_ns();
/// The time that interrupts and the hypervisor have taken from these cores since the machine was started, in ns, as the
/// kernel counts it in its ticks (/proc/stat: irq, softirq, steal); -1: that file does not tell. Ordinary context.
std::int64_t taken_ns(const Cores& cores);

/// The CPU time that the quotas of its control groups allow the process per second of wall time, in thousandths of a
/// core (cgroup v2 cpu.max, v1 cpu.cfs_quota_us); 0: no quota. Opens a few files. Ordinary context.
std::int64_t cpu_quota_in_thousandths();

}  // namespace refrain::platform

#pragma once
/// Counters of the kernel's own software events, by perf_event_open: no hardware is needed.
///
/// The counters of a thread are descriptors with high numbers, closed on exec, which the program does not meet by
/// accident. If it has closed one, that is neither read nor closed again, since its number may be a file of the program
/// (own_descriptor.hpp). Errors: `false`, with the kernel's errno in `error`. errno itself is preserved.

#include <cstddef>
#include <cstdint>

namespace refrain::platform {

enum class KernelEvent : std::uint8_t {
  CpuClock,
  TaskClock,
  PageFaults,
  MinorFaults,
  MajorFaults,
  ContextSwitches,
  CpuMigrations
};
inline constexpr std::size_t kernel_event_count = 7;

/// The counters of one thread. All zero bytes: none.
struct KernelCounters {
  std::uint32_t count;
  int os_thread_id;
  int descriptors[kernel_event_count];
};

/// Begins to count `event` on the calling thread, besides those that `counters` already holds. Ordinary context.
[[nodiscard]] bool add_kernel_counter(KernelCounters& counters, KernelEvent event, int& error);
/// Counts since the counters began, in the order in which they were added. On the thread that they belong to. Three
/// system calls. False: the program has closed them. Async-signal-safe.
[[nodiscard]] bool read_kernel_counters(const KernelCounters& counters, std::int64_t* values);
/// Ordinary context.
void close_kernel_counters(KernelCounters& counters);

}  // namespace refrain::platform

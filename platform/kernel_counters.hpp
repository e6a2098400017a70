#pragma once
/// Counters of the kernel's own software events, by perf_event_open: no hardware is needed.
///
/// The counters of a thread are descriptors with high numbers, closed on exec, that the program never sees by accident.
/// One that it has closed is not read nor closed again: its number may be a file of the program (own_descriptor.hpp).
/// Errors: `false`, with the kernel's errno in `error`. Otherwise errno is kept.

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

/// Of one thread. Zero is "none".
struct KernelCounters {
  std::uint32_t count;
  int os_thread_id;
  int descriptors[kernel_event_count];
};

/// Begins to count `event` on the calling thread, beside those that `counters` holds already. Ordinary context.
[[nodiscard]] bool add_kernel_counter(KernelCounters& counters, KernelEvent event, int& error);
/// Counts since the counters began, in the order in which they were added, by the thread that they belong to. Three
/// system calls. False: the program has closed them. Async-signal-safe.
[[nodiscard]] bool read_kernel_counters(const KernelCounters& counters, std::int64_t* values);
/// Ordinary context.
void close_kernel_counters(KernelCounters& counters);

}  // namespace refrain::platform

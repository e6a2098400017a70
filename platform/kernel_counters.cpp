#include "platform/kernel_counters.hpp"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/errno_keeper.hpp"
#include "platform/own_descriptor.hpp"
#include "platform/threads.hpp"

namespace refrain::platform {
namespace {

constexpr std::uint64_t kernel_numbers[] = {PERF_COUNT_SW_CPU_CLOCK,       PERF_COUNT_SW_TASK_CLOCK,
                                            PERF_COUNT_SW_PAGE_FAULTS,     PERF_COUNT_SW_PAGE_FAULTS_MIN,
                                            PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_CONTEXT_SWITCHES,
                                            PERF_COUNT_SW_CPU_MIGRATIONS};
static_assert(sizeof kernel_numbers / sizeof *kernel_numbers == kernel_event_count);

/// These events happen in the kernel, so a counter for user mode would always stay 0.
bool happens_in_kernel(KernelEvent event) {
  return event == KernelEvent::ContextSwitches || event == KernelEvent::CpuMigrations;
}

int open_event(KernelEvent event, int leader, bool user_mode_only) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = kernel_numbers[static_cast<std::size_t>(event)];
  attributes.read_format = PERF_FORMAT_GROUP;
  attributes.exclude_kernel = user_mode_only;
  attributes.exclude_hv = user_mode_only;
  constexpr int this_thread = 0, any_cpu = -1;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, this_thread, any_cpu, leader, PERF_FLAG_FD_CLOEXEC));
}

/// A signal that is never sent. It tells these descriptors from others of ours.
constexpr int mark = SIGPWR;

}  // namespace

bool add_kernel_counter(KernelCounters& counters, KernelEvent event, int& error) {
  const ErrnoKeeper errno_keeper;
  error = 0;
  if (counters.count == kernel_event_count) return false;
  if (!reserve_descriptor(DescriptorUse::Metric)) {
    error = errno;
    return false;
  }
  const int leader = counters.count ? counters.descriptors[0] : -1;
  int opened = open_event(event, leader, false);
  // Without privileges (kernel.perf_event_paranoid of 2 and more) only events in user mode may be counted.
  if (opened < 0 && (errno == EACCES || errno == EPERM) && !happens_in_kernel(event))
    opened = open_event(event, leader, true);
  const int descriptor = keep_descriptor(opened, DescriptorUse::Metric, mark);
  if (descriptor < 0) {
    error = errno;
    return false;
  }
  counters.os_thread_id = thread_id();
  counters.descriptors[counters.count++] = descriptor;
  return true;
}

bool read_kernel_counters(const KernelCounters& counters, std::int64_t* values) {
  if (counters.count == 0) return true;
  const ErrnoKeeper errno_keeper;
  std::uint64_t group[1 + kernel_event_count];  // the number of values, then the values
  const std::size_t bytes = (1 + counters.count) * sizeof *group;
  const bool good = is_marked_descriptor(counters.descriptors[0], counters.os_thread_id, mark) &&
                    syscall(SYS_read, counters.descriptors[0], group, bytes) == static_cast<long>(bytes) &&
                    group[0] == counters.count;
  if (!good) return false;
  for (std::uint32_t i = 0; i < counters.count; ++i) values[i] = static_cast<std::int64_t>(group[1 + i]);
  return true;
}

void close_kernel_counters(KernelCounters& counters) {
  const ErrnoKeeper errno_keeper;
  for (std::uint32_t i = counters.count; i-- > 0;) {
    if (is_marked_descriptor(counters.descriptors[i], counters.os_thread_id, mark)) close(counters.descriptors[i]);
    release_descriptor(DescriptorUse::Metric);
  }
  counters.count = 0;
}

}  // namespace refrain::platform

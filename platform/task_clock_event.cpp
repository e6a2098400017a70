#include "platform/task_clock_event.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/own_descriptor.hpp"
#include "platform/threads.hpp"

namespace refrain::platform {
namespace {

int open_file() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = 1'000'000'000;  // a placeholder until it is started
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.wakeup_events = 1;
  constexpr int this_thread = 0, any_cpu = -1, no_group = -1;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, this_thread, any_cpu, no_group, PERF_FLAG_FD_CLOEXEC));
}

/// Comes last, because the kernel remembers the number that the signal reports.
bool send_signals(int descriptor) {
  const long flags = syscall(SYS_fcntl, descriptor, F_GETFL);
  return flags >= 0 && syscall(SYS_fcntl, descriptor, F_SETFL, flags | O_ASYNC) == 0;
}

}  // namespace

bool TaskClockEvent::open(int signal) {
  close();
  if (!reserve_descriptor(DescriptorUse::TaskClock)) return false;
  const int file = keep_descriptor(open_file(), DescriptorUse::TaskClock, signal);
  if (file < 0) return false;
  descriptor_ = file;
  signal_ = signal;
  os_thread_id_ = thread_id();
  if (send_signals(file)) return true;
  const int error = errno;
  close();
  errno = error;
  return false;
}

bool TaskClockEvent::is_open() const {
  return descriptor_ > 0 && is_marked_descriptor(descriptor_, os_thread_id_, signal_);
}

bool TaskClockEvent::set_period(std::int64_t ns) {
  if (!is_open()) return false;
  const std::uint64_t period = ns > 0 ? static_cast<std::uint64_t>(ns) : 1;
  return syscall(SYS_ioctl, descriptor_, PERF_EVENT_IOC_PERIOD, &period) == 0;
}

bool TaskClockEvent::start(std::int64_t ns) {
  return set_period(ns) && syscall(SYS_ioctl, descriptor_, PERF_EVENT_IOC_ENABLE, 0) == 0;
}

void TaskClockEvent::pause() {
  if (is_open()) syscall(SYS_ioctl, descriptor_, PERF_EVENT_IOC_DISABLE, 0);
}

void TaskClockEvent::close() {
  if (descriptor_ <= 0) return;
  if (is_open()) {
    // A copy in a child would keep the event alive.
    syscall(SYS_ioctl, descriptor_, PERF_EVENT_IOC_DISABLE, 0);
    syscall(SYS_close, descriptor_);
  }
  descriptor_ = 0;
  release_descriptor(DescriptorUse::TaskClock);
}

void TaskClockEvent::close_copy() {
  if (is_open()) syscall(SYS_close, descriptor_);
  descriptor_ = 0;
}

}  // namespace refrain::platform

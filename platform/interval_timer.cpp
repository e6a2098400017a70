#include "platform/interval_timer.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "platform/threads.hpp"

namespace refrain::platform {

bool IntervalTimer::create(TimerClock clock, int signal) {
  destroy();
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event._sigev_un._tid = thread_id();
  const clockid_t id = clock == TimerClock::ThreadCpu ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  exists_ = syscall(SYS_timer_create, id, &event, &id_) == 0;
  if (!exists_) id_ = none;
  return exists_;
}

bool IntervalTimer::arm(std::int64_t ns, std::int64_t again_ns) {
  if (!exists_) return false;
  constexpr auto time_of = [](std::int64_t t) { return timespec{t / 1'000'000'000, t % 1'000'000'000}; };
  const itimerspec when{time_of(again_ns), time_of(ns)};
  return syscall(SYS_timer_settime, id_, 0, &when, nullptr) == 0;
}

void IntervalTimer::destroy() {
  if (!exists_) return;
  exists_ = false;
  syscall(SYS_timer_delete, id_);
}

std::int64_t cpu_timer_resolution_ns() {
  timespec t;
  // The kernel checks CPU-clock timers at its tick, whose length is the resolution of the coarse clock.
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &t) != 0) return 4'000'000;
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace refrain::platform

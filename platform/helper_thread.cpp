#include "platform/helper_thread.hpp"

#include <cerrno>
#include <climits>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "platform/clock.hpp"
#include "platform/fault_signals.hpp"
#include "platform/pages.hpp"
#include "platform/threads.hpp"

namespace refrain::platform {
namespace {

constexpr std::size_t guard_bytes = 16384;
constexpr std::size_t stack_bytes = 512 * 1024;

}  // namespace

bool HelperThread::prepare() {
  if (stack_) return true;
  void* memory = map_pages(guard_bytes + stack_bytes);
  if (!memory) return false;
  mprotect(memory, guard_bytes, PROT_NONE);
  stack_ = memory;
  return true;
}

int HelperThread::body(void* self) {
  auto& helper = *static_cast<HelperThread*>(self);
  const sigset_t faults = fault_signal_set();
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
  helper.work_(helper.argument_);
  return 0;
}

HelperThread::Result HelperThread::run(void (*work)(void*), void* argument, std::int64_t patience_ns) {
  if (!stack_ || thread_.load() != 0) return Result::Unavailable;
  const int saved_errno = errno;
  work_ = work;
  argument_ = argument;
  faulted_.store(false);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto* number = reinterpret_cast<pid_t*>(&thread_);
  constexpr int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                        CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  auto* top = static_cast<char*>(stack_) + guard_bytes + stack_bytes;
  Result result = Result::Unavailable;
  if (clone(body, top, flags, this, number, nullptr, number) > 0) {
    const std::int64_t deadline = monotonic_ns() + patience_ns;
    result = Result::Done;
    // The kernel stores 0 and wakes when the thread has ended.
    for (int running; (running = thread_.load(std::memory_order_acquire)) != 0;) {
      const std::int64_t left = deadline - monotonic_ns();
      if (patience_ns != 0 && left <= 0) {
        result = Result::TimedOut;
        break;
      }
      const timespec wait{left / 1'000'000'000, left % 1'000'000'000};
      syscall(SYS_futex, number, FUTEX_WAIT, running, patience_ns != 0 ? &wait : nullptr, nullptr, 0);
    }
    if (result == Result::Done && faulted_.load()) result = Result::Faulted;
  } else {
    thread_.store(0);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = saved_errno;
  return result;
}

bool HelperThread::is_this_thread() const {
  const int working = thread_.load(std::memory_order_relaxed);
  return working != 0 && working == thread_id();
}

void HelperThread::leave() {
  faulted_.store(true);
  for (;;) syscall(SYS_exit, 0);
}

}  // namespace refrain::platform

#include "platform/helper_thread.hpp"

#include <algorithm>
#include <climits>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "platform/clock.hpp"
#include "platform/errno_keeper.hpp"
#include "platform/fault_signals.hpp"
#include "platform/floating_point.hpp"
#include "platform/pages.hpp"
#include "platform/signal_mask.hpp"
#include "platform/threads.hpp"

/// Begin and end of the stack of the process's helper, for own_functions.c.
extern "C" {
std::uintptr_t refrain_helper_stack[2] = {};
}

namespace refrain::platform {
namespace {

constexpr std::size_t guard_bytes = 16384;
constexpr std::size_t stack_bytes = 512 * 1024;

/// How often `run` checks whether the helper works, and the CPU time that tells work from waiting in short sleeps.
constexpr std::int64_t look_ns = 50'000'000;
constexpr std::int64_t work_of_a_look_ns = 3'000'000;
/// The longest wait even for a helper that works, unless the timeout is longer.
constexpr std::int64_t longest_wait_ns = 5'000'000'000;

}  // namespace

bool HelperThread::prepare() {
  if (stack_) return true;
  void* memory = map_pages(guard_bytes + stack_bytes);
  if (!memory) return false;
  mprotect(memory, guard_bytes, PROT_NONE);
  stack_ = memory;
  refrain_helper_stack[0] = reinterpret_cast<std::uintptr_t>(memory);
  refrain_helper_stack[1] = refrain_helper_stack[0] + guard_bytes + stack_bytes;
  return true;
}

int HelperThread::body(void* self) {
  auto& helper = *static_cast<HelperThread*>(self);
  const sigset_t faults = fault_signal_set();
  change_signal_mask(SIG_UNBLOCK, &faults, nullptr);
  begin_own_floating_point();  // a thread inherits traps and rounding from its maker
  helper.work_(helper.argument_);
  return 0;
}

HelperThread::Result HelperThread::run(void (*work)(void*), void* argument, std::int64_t timeout_ns, Signals signals) {
  if (!stack_ || thread_.load() != 0) return Result::Unavailable;
  const ErrnoKeeper errno_keeper;
  work_ = work;
  argument_ = argument;
  faulted_.store(false);
  sigset_t all, before;
  sigfillset(&all);
  change_signal_mask(SIG_SETMASK, &all, &before);
  auto* number = reinterpret_cast<pid_t*>(&thread_);
  constexpr int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                        CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  auto* top = static_cast<char*>(stack_) + guard_bytes + stack_bytes;
  Result result = Result::Unavailable;
  if (clone(body, top, flags, this, number, nullptr, number) > 0) {
    if (signals == Signals::Come) change_signal_mask(SIG_SETMASK, &before, nullptr);
    const std::int64_t last_deadline = monotonic_ns() + longest_wait_ns;
    std::int64_t deadline = monotonic_ns() + timeout_ns;
    std::int64_t cpu_seen = 0;
    result = Result::Done;
    // The kernel stores 0 and wakes us when the thread has ended.
    for (int running; (running = thread_.load(std::memory_order_acquire)) != 0;) {
      const std::int64_t cpu = timeout_ns != 0 ? thread_cpu_ns_of(running) : 0, now = monotonic_ns();
      if (cpu >= cpu_seen + work_of_a_look_ns) {  // it does not hang, though other processes may use its processor
        cpu_seen = cpu;
        deadline = std::min(now + timeout_ns, std::max(deadline, last_deadline));
      }
      if (timeout_ns != 0 && now >= deadline) {
        result = Result::TimedOut;
        break;
      }
      const timespec wait{0, std::min(look_ns, std::max<std::int64_t>(deadline - now, 1))};
      syscall(SYS_futex, number, FUTEX_WAIT, running, timeout_ns != 0 ? &wait : nullptr, nullptr, 0);
    }
    if (result == Result::Done && faulted_.load()) result = Result::Faulted;
  } else {
    thread_.store(0);
  }
  change_signal_mask(SIG_SETMASK, &before, nullptr);
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

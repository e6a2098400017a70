#include "guest/endings.hpp"

#include <atomic>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/guest.hpp"
#include "guest/signals.hpp"
#include "measurement/location.hpp"
#include "measurement/locations.hpp"
#include "platform/clock.hpp"
#include "platform/errno_keeper.hpp"
#include "platform/fault_signals.hpp"
#include "platform/helper_thread.hpp"
#include "platform/interval_timer.hpp"
#include "platform/next_definition.hpp"
#include "platform/signal_mask.hpp"
#include "platform/threads.hpp"

namespace refrain::guest {
namespace {

using measurement::Inside;

/// Batch systems leave a second between SIGTERM and SIGKILL, and the program's own end may need some of it. All ranks
/// of a job are told to end at the same time, and at the first death launchers kill the others at once. So a process
/// that is one of several does not die before this time.
constexpr std::int64_t timeout_when_asked_ns = 450'000'000;
/// Nobody waits for a process that crashes, but a lock that it held may never be released.
constexpr std::int64_t timeout_in_crash_ns = 2'000'000'000;
constexpr std::int64_t timeout_at_exit_ns = 20'000'000'000;

platform::HelperThread helper;
std::atomic_flag writing;                       ///< a thread uses the helper
std::atomic<bool> was_written_for_exit{false};  ///< write_before_exit() has written; it does so once

bool is_inside_measurement() {
  const measurement::Location* own = measurement::own_location();
  return own && measurement::is_bookkeeping(own->inside.load(std::memory_order_relaxed));
}

// ---- a fault while writing ------------------------------------------------------------------------------------------

/// Sends the signal that a handler has received once more, with its original information.
void send_again(int signal, siginfo_t* info) {
  syscall(SYS_rt_tgsigqueueinfo, platform::process_id(), platform::thread_id(), signal, info);
}

/// Whether an instruction caused the signal: it is executed again when the handler returns.
bool is_fault(int signal, const siginfo_t* info) { return info->si_code > 0 && platform::is_fault_signal(signal); }

/// Handles faults while the helper writes, whatever handler the program has installed.
void on_fault_meanwhile(int signal, siginfo_t* info, void* context) {
  if (helper.is_this_thread()) {
    if (is_fault(signal, info)) helper.leave();
    // The signal was sent to the process: another thread receives it, now or when the work is done.
    sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
    kill(platform::process_id(), signal);
    return;
  }
  const platform::ErrnoKeeper errno_keeper;
  while (writing.test(std::memory_order_acquire)) platform::pause_ms(1);
  if (!is_fault(signal, info)) send_again(signal, info);
}

struct Work {
  End end;
  bool done;
} work;

void write_now(void*) { work.done = callbacks.write(work.end); }

/// Has the helper write. `timeout_ns`: how long to wait; 0: forever. False: nothing was written.
bool write_aside(End end, std::int64_t timeout_ns) {
  using Result = platform::HelperThread::Result;
  if (!callbacks.is_measured() || was_written_for_exit.load()) return false;
  if (writing.test_and_set(std::memory_order_acquire)) return false;
  const platform::NoCancellation whole;
  work = {end, false};
  // A fault signal that is sent to this thread meanwhile waits until the program's handlers are back, because
  // on_fault_meanwhile() would wait here for `writing`, which this thread clears.
  const sigset_t faults = platform::fault_signal_set();
  sigset_t mask;
  platform::change_signal_mask(SIG_BLOCK, &faults, &mask);
  take_faults(on_fault_meanwhile);
  const Result result = helper.run(write_now, nullptr, timeout_ns);
  give_back_faults();
  platform::change_signal_mask(SIG_SETMASK, &mask, nullptr);
  if (result == Result::Faulted) measurement::resume_others();
  if (result == Result::Unavailable && end == End::Leaving && !is_inside_measurement()) write_now(nullptr);
  // A helper that takes too long still uses `work`.
  if (result != Result::TimedOut) writing.clear(std::memory_order_release);
  return result != Result::TimedOut && result != Result::Faulted && work.done;
}

// ---- signals --------------------------------------------------------------------------------------------------------

platform::IntervalTimer retry;
std::atomic<int> retries{0};
siginfo_t first_info;
constexpr int max_retries = 300;
constexpr std::int64_t retry_ns = 1'000'000;

/// The signal has found its thread in Refrain's own work, which takes microseconds. Has a timer send it again soon; to
/// the program it looks like a signal that came a little later.
bool comes_again(int signal, siginfo_t* info) {
  if (is_fault(signal, info) || signal == SIGABRT) return false;
  const int before = retries.fetch_add(1);
  if (before >= max_retries) return false;
  if (before == 0) {
    first_info = *info;
    if (!retry.create(platform::TimerClock::Wall, signal)) return false;
  }
  return retry.arm(retry_ns);
}

bool is_crash(int signal) { return platform::is_fault_signal(signal) || signal == SIGABRT || signal == SIGSYS; }

/// Handles a signal that the program has left at its default: writes the measurement, then lets the signal end the
/// process.
void on_default(int signal, siginfo_t* info, void*) {
  static std::atomic_flag dying;
  if (helper.is_this_thread()) helper.leave();
  const platform::ErrnoKeeper errno_keeper;
  if (callbacks.is_original_process()) {
    if (is_inside_measurement() && comes_again(signal, info)) return;
    if (retries.load() > 0 && info->si_code == SI_TIMER) *info = first_info;
    if (dying.test_and_set()) {  // another thread is about to end the process
      for (int i = 0; i < 3000; ++i) platform::pause_ms(1);
    } else if (!is_inside_measurement()) {
      const std::int64_t begin = platform::monotonic_ns();
      write_aside(End::Dying, is_crash(signal) ? timeout_in_crash_ns : timeout_when_asked_ns);
      while (!is_crash(signal) && callbacks.is_one_of_several() &&
             platform::monotonic_ns() < begin + timeout_when_asked_ns)
        platform::pause_ms(1);
    }
  }
  set_default(signal);
  send_again(signal, info);  // also for a fault, whose cause may be gone
}

/// Handles a SIGTERM that the program handles, too. The program's handler comes first: the remaining time is the
/// program's.
void on_warning(int signal, siginfo_t* info, void* context) {
  const bool is_original = callbacks.is_original_process();
  // If the program's handler does not return, the next MPI call or end of an iteration writes.
  if (is_original) callbacks.end_announced();
  call_own_handler(signal, info, context);
  if (!is_original || is_inside_measurement()) return;
  const platform::ErrnoKeeper errno_keeper;
  write_aside(End::Warned, 0);
}

// ---- exits ----------------------------------------------------------------------------------------------------------

[[noreturn]] void exit_now(platform::NextDefinition<void(int)>& next, int status) {
  write_before_exit();
  if (auto* exit = next.get()) exit(status);
  for (;;) syscall(SYS_exit_group, status);
}

platform::NextDefinition<void(int)> next_exit{"_exit"};
platform::NextDefinition<void(int)> next_c99_exit{"_Exit"};

}  // namespace

void watch_endings() {
  // Looked up now, because they may be called from handlers, and between vfork and exec.
  next_exit.get();
  next_c99_exit.get();
  if (!helper.prepare()) return;
  at_quick_exit(callbacks.ends);
  // The first process of a container has no default action for SIGTERM.
  if (platform::process_id() != 1) watch_ending_signals(on_default, on_warning);
}

void write_before_exit() {
  if (write_aside(End::Leaving, timeout_at_exit_ns)) was_written_for_exit.store(true);
}

bool run_at_end(void (*work)(void*), std::int64_t timeout_s) {
  using Result = platform::HelperThread::Result;
  const Result result = helper.run(work, nullptr, timeout_s * 1'000'000'000, platform::HelperThread::Signals::Come);
  if (result == Result::Unavailable) work(nullptr);
  return result != Result::TimedOut;
}

}  // namespace refrain::guest

extern "C" {

[[noreturn]] REFRAIN_EXPORT void _exit(int status) { refrain::guest::exit_now(refrain::guest::next_exit, status); }
[[noreturn]] REFRAIN_EXPORT void _Exit(int status) noexcept {
  refrain::guest::exit_now(refrain::guest::next_c99_exit, status);
}

}  // extern "C"

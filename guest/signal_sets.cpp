#include "guest/signal_sets.hpp"

#include <algorithm>
#include <cstddef>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "guest/guest.hpp"
#include "measurement/location.hpp"
#include "platform/clock.hpp"
#include "platform/errno_keeper.hpp"
#include "platform/next_definition.hpp"
#include "platform/signal_mask.hpp"
#include "platform/threads.hpp"

namespace refrain::guest {
namespace {

bool contains(const sigset_t& set, int signal) { return sigismember(&set, signal) == 1; }

sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

// ---- masks ----------------------------------------------------------------------------------------------------------

/// The thread began with the signal blocked and still believes so, but we have unblocked it.
constinit thread_local bool believed_blocked __attribute__((tls_model("initial-exec"))) = false;
/// The reverse: the thread waits with a mask in which we have blocked the signal (WaitMask).
constinit thread_local bool believed_unblocked __attribute__((tls_model("initial-exec"))) = false;

using Mask = platform::NextDefinition<int(int, const sigset_t*, sigset_t*)>;
Mask next_pthread_sigmask{"pthread_sigmask"};
Mask next_sigprocmask{"sigprocmask"};

int change_mask(Mask& definition, int how, const sigset_t* set, sigset_t* old) {
  auto* next = definition.get();
  if (!next) return ENOSYS;
  if ((!believed_blocked && !believed_unblocked) || !callbacks.is_original_process()) return next(how, set, old);
  const int signal = callbacks.signal_of_handler();
  if (believed_unblocked) {  // in a handler, while the thread waits
    const int result = next(how, set, old);
    if (result == 0 && old) sigdelset(old, signal);
    if (result == 0 && set && (how == SIG_SETMASK || contains(*set, signal))) believed_unblocked = false;
    return result;
  }
  sigset_t kernel_set;
  bool stays = true;
  if (set) {
    kernel_set = *set;
    stays = how == SIG_BLOCK || contains(*set, signal) == (how == SIG_SETMASK);
    if (how != SIG_UNBLOCK) sigdelset(&kernel_set, signal);
  }
  const int result = next(how, set ? &kernel_set : nullptr, old);
  if (result != 0) return result;
  if (old) sigaddset(old, signal);
  believed_blocked = stays;
  return 0;
}

// ---- waiting for signals --------------------------------------------------------------------------------------------

/// Whether the program means signals in general: the set has more than half of the real-time signals.
bool is_general(const sigset_t& set) {
  int count = 0;
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) count += contains(set, signal);
  return count > (SIGRTMAX - SIGRTMIN + 1) / 2;
}

/// Removes a tick that was pending when the program took the signal.
void drop_pending_tick(int signal) {
  const platform::ErrnoKeeper errno_keeper;
  const timespec now{};
  siginfo_t info{};
  // A signal that was sent to the thread is taken before one that was sent to the process.
  if (platform::take_signal(only(signal), &info, now) > 0 && !callbacks.is_own_tick(info))
    syscall(SYS_rt_tgsigqueueinfo, platform::process_id(), platform::thread_id(), signal, &info);
}

/// Whether our signal is among those that the program waits for. If they are few, the program has a use of its own for
/// ours and takes it.
bool waits_for_ours(const sigset_t* set) {
  const int signal = set ? hidden_signal() : 0;
  if (signal == 0 || !contains(*set, signal)) return false;
  if (is_general(*set)) return true;
  callbacks.signal_taken();
  drop_pending_tick(signal);
  return false;
}

/// Calls `wait(info)` until a signal other than a tick ends it. A tick may have been pending before.
template <class Wait>
int wait_for_others(siginfo_t* info, Wait&& wait) {
  siginfo_t own;
  siginfo_t* to = info ? info : &own;
  for (;;) {
    const int received = wait(to);
    if (received <= 0 || received != callbacks.signal_of_handler() || !callbacks.is_own_tick(*to)) return received;
  }
}

/// The mask for a call that waits with `mask` in force. If it unblocks our signal while a tick is held back, that tick
/// would end the wait at once; so the signal stays blocked until the thread's own mask allows it.
class WaitMask {
 public:
  explicit WaitMask(const sigset_t* mask) : mask_(mask) {
    const int signal = mask ? hidden_signal() : 0;
    if (signal == 0 || contains(*mask, signal)) return;
    sigset_t now;
    platform::change_signal_mask(SIG_BLOCK, nullptr, &now);
    if (!contains(now, signal)) return;
    own_ = *mask;
    sigaddset(&own_, signal);
    mask_ = &own_;
    believed_unblocked = true;
  }
  ~WaitMask() {
    if (mask_ == &own_) believed_unblocked = false;
  }
  WaitMask(const WaitMask&) = delete;
  WaitMask& operator=(const WaitMask&) = delete;
  const sigset_t* get() const { return mask_; }

 private:
  const sigset_t* mask_;
  sigset_t own_;
};

platform::NextDefinition<int(const sigset_t*, int*)> next_sigwait{"sigwait"};
platform::NextDefinition<int(const sigset_t*, siginfo_t*)> next_sigwaitinfo{"sigwaitinfo"};
platform::NextDefinition<int(const sigset_t*, siginfo_t*, const timespec*)> next_sigtimedwait{"sigtimedwait"};
platform::NextDefinition<int(int, const sigset_t*, int)> next_signalfd{"signalfd"};
platform::NextDefinition<int(sigset_t*)> next_sigpending{"sigpending"};
platform::NextDefinition<int(int)> next_sighold{"sighold"};
platform::NextDefinition<int(int)> next_sigrelse{"sigrelse"};
platform::NextDefinition<int(const sigset_t*)> next_sigsuspend{"sigsuspend"};
platform::NextDefinition<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> next_ppoll{"ppoll"};
platform::NextDefinition<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> next_pselect{"pselect"};
platform::NextDefinition<int(pollfd*, nfds_t, const timespec*, const sigset_t*, std::size_t)> next_checked_ppoll{
    "__ppoll_chk"};
platform::NextDefinition<int(int, epoll_event*, int, int, const sigset_t*)> next_epoll_pwait{"epoll_pwait"};
platform::NextDefinition<int(int, epoll_event*, int, const timespec*, const sigset_t*)> next_epoll_pwait2{
    "epoll_pwait2"};

/// Blocks or unblocks one signal as the program sees it.
int change_one(int how, int signal) {
  const sigset_t set = only(signal);
  return change_mask(next_pthread_sigmask, how, &set, nullptr);
}

/// Returns what the next definition returns; ENOSYS if there is none.
template <class Next, class... Arguments>
int pass_on(Next& definition, Arguments... arguments) {
  auto* next = definition.get();
  if (next) return next(arguments...);
  errno = ENOSYS;
  return -1;
}

thread_local sigset_t mask_before_fork __attribute__((tls_model("initial-exec")));

platform::NextDefinition<void(ucontext_t*, void (*)(), int)> next_makecontext{"makecontext"};

}  // namespace

void find_mask_functions() {
  next_pthread_sigmask.get();
  next_sigprocmask.get();
  next_sigsuspend.get();
  next_sigpending.get();
}

int change_mask_of_program(int how, const sigset_t* set, sigset_t* old) {
  return change_mask(next_pthread_sigmask, how, set, old);
}

void take_foreign_signal(int signal, siginfo_t* info, void* context) {
  if (!believed_blocked || !callbacks.is_original_process()) return;  // the default is to ignore it
  sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
  believed_blocked = false;
  if (info->si_code == SI_TKILL)
    syscall(SYS_rt_tgsigqueueinfo, platform::process_id(), platform::thread_id(), signal, info);
  else syscall(SYS_kill, platform::process_id(), signal);
}

void unblock_inherited_signal() {
  const int signal = callbacks.sampling_signal();
  if (signal == 0) return;
  const sigset_t set = only(signal);
  sigset_t before;
  platform::change_signal_mask(SIG_UNBLOCK, &set, &before);
  believed_blocked = contains(before, signal);
}

void block_during_fork() {
  change_mask_of_program(SIG_BLOCK, nullptr, &mask_before_fork);
  const int signal = callbacks.sampling_signal();
  if (signal == 0) return;
  const sigset_t set = only(signal);
  platform::change_signal_mask(SIG_BLOCK, &set, nullptr);
}

void unblock_after_fork() { change_mask_of_program(SIG_SETMASK, &mask_before_fork, nullptr); }

void give_back_mask() {
  believed_blocked = believed_unblocked = false;
  platform::change_signal_mask(SIG_SETMASK, &mask_before_fork, nullptr);
}

}  // namespace refrain::guest

using namespace refrain::guest;

extern "C" {

REFRAIN_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return change_mask_of_program(how, set, old);
}
REFRAIN_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return change_mask(next_sigprocmask, how, set, old);
}
REFRAIN_EXPORT int sighold(int signal) noexcept {
  return believed_blocked && signal == hidden_signal() ? change_one(SIG_BLOCK, signal) : pass_on(next_sighold, signal);
}
REFRAIN_EXPORT int sigrelse(int signal) noexcept {
  return believed_blocked && signal == hidden_signal() ? change_one(SIG_UNBLOCK, signal)
                                                       : pass_on(next_sigrelse, signal);
}
REFRAIN_EXPORT int sigpending(sigset_t* set) noexcept {
  const int result = pass_on(next_sigpending, set);
  const int signal = result == 0 ? hidden_signal() : 0;
  if (signal != 0) sigdelset(set, signal);
  return result;
}

REFRAIN_EXPORT int sigwait(const sigset_t* set, int* signal) {
  if (!waits_for_ours(set)) {
    auto* next = next_sigwait.get();
    return next ? next(set, signal) : ENOSYS;
  }
  const refrain::platform::ErrnoKeeper errno_keeper;
  int received;
  do received = wait_for_others(nullptr, [&](siginfo_t* info) { return pass_on(next_sigwaitinfo, set, info); });
  while (received < 0 && errno == EINTR);
  if (received < 0) return errno;
  *signal = received;
  return 0;
}
REFRAIN_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  if (!waits_for_ours(set)) return pass_on(next_sigwaitinfo, set, info);
  return wait_for_others(info, [&](siginfo_t* to) { return pass_on(next_sigwaitinfo, set, to); });
}
REFRAIN_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  if (!waits_for_ours(set)) return pass_on(next_sigtimedwait, set, info, timeout);
  const std::int64_t begin = refrain::platform::monotonic_ns();
  return wait_for_others(info, [&](siginfo_t* to) {
    if (!timeout) return pass_on(next_sigtimedwait, set, to, timeout);
    const std::int64_t passed = refrain::platform::monotonic_ns() - begin;
    const std::int64_t left = std::max<std::int64_t>(timeout->tv_sec * 1'000'000'000 + timeout->tv_nsec - passed, 0);
    const timespec rest{left / 1'000'000'000, left % 1'000'000'000};
    const bool is_invalid = timeout->tv_nsec < 0 || timeout->tv_sec < 0 || timeout->tv_nsec >= 1'000'000'000;
    return pass_on(next_sigtimedwait, set, to, is_invalid ? timeout : &rest);
  });
}
REFRAIN_EXPORT int signalfd(int descriptor, const sigset_t* set, int flags) noexcept {
  sigset_t others;
  if (waits_for_ours(set)) {  // a reader cannot be kept from reading ticks
    others = *set;
    sigdelset(&others, hidden_signal());
    set = &others;
  }
  return pass_on(next_signalfd, descriptor, set, flags);
}

REFRAIN_EXPORT int sigsuspend(const sigset_t* mask) { return pass_on(next_sigsuspend, WaitMask(mask).get()); }
REFRAIN_EXPORT int ppoll(pollfd* descriptors, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  return pass_on(next_ppoll, descriptors, count, timeout, WaitMask(mask).get());
}
REFRAIN_EXPORT int __ppoll_chk(pollfd* descriptors, nfds_t count, const timespec* timeout, const sigset_t* mask,
                               std::size_t bytes) {
  return pass_on(next_checked_ppoll, descriptors, count, timeout, WaitMask(mask).get(), bytes);
}
REFRAIN_EXPORT int pselect(int count, fd_set* read, fd_set* write, fd_set* except, const timespec* timeout,
                           const sigset_t* mask) {
  return pass_on(next_pselect, count, read, write, except, timeout, WaitMask(mask).get());
}
REFRAIN_EXPORT int epoll_pwait(int epoll, epoll_event* events, int most, int timeout, const sigset_t* mask) {
  return pass_on(next_epoll_pwait, epoll, events, most, timeout, WaitMask(mask).get());
}
REFRAIN_EXPORT int epoll_pwait2(int epoll, epoll_event* events, int most, const timespec* timeout,
                                const sigset_t* mask) {
  return pass_on(next_epoll_pwait2, epoll, events, most, timeout, WaitMask(mask).get());
}

/// makecontext (x86_64/make_context.cpp) calls this, then jumps to the returned address.
void* refrain_before_makecontext(ucontext_t* context) {
  const int signal = hidden_signal();
  auto* location = refrain::measurement::own_location();
  if (signal != 0 && location && context->uc_stack.ss_size < refrain::platform::min_stack_for_handlers()) {
    sigaddset(&context->uc_sigmask, signal);
    location->count_loss(refrain::measurement::Loss::StackTooSmall);
  }
  return reinterpret_cast<void*>(next_makecontext.get());
}

}  // extern "C"

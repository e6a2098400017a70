#include "platform/threads.hpp"

#include <errno.h>
#include <initializer_list>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "platform/errno_keeper.hpp"
#include "platform/signal_mask.hpp"

extern "C" void* __libc_stack_end;  // glibc: the main thread's stack pointer at entry, set by the dynamic linker

namespace refrain::platform {

int thread_id() { return static_cast<int>(syscall(SYS_gettid)); }
void pause_ms(long ms) {
  const timespec pause{ms / 1000, ms % 1000 * 1'000'000};
  nanosleep(&pause, nullptr);
}
int process_id() { return static_cast<int>(getpid()); }

StackBounds own_stack() {
  if (thread_id() == process_id()) {
    // All frames of the main thread lie below this address; its stack grows down without a fixed limit.
    const auto high = reinterpret_cast<std::uintptr_t>(__libc_stack_end);
    return {1, (high + 15) & ~std::uintptr_t{15}};
  }
  pthread_attr_t attributes;
  StackBounds bounds{0, 0};
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* low = nullptr;
    std::size_t size = 0;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0)
      bounds = {reinterpret_cast<std::uintptr_t>(low), reinterpret_cast<std::uintptr_t>(low) + size};
    pthread_attr_destroy(&attributes);
  }
  return bounds;
}

std::size_t min_stack_for_handlers() {
  // The frame's size depends on the processor's registers (3 to 12 KB were seen); kernels before 5.14 do not tell it.
  const std::size_t told = getauxval(AT_MINSIGSTKSZ);
  constexpr std::size_t frame_if_not_told = 12 << 10, handler = 8 << 10, program = 24 << 10;
  return (told ? told : frame_if_not_told) + handler + program;
}

bool is_on_alternate_stack() {
  stack_t stack{};
  return syscall(SYS_sigaltstack, nullptr, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

bool readable_word(std::uintptr_t address) {
  // The kernel copies the signal set before it checks `how`: EFAULT means unreadable, EINVAL readable. The mask does
  // not change.
  const ErrnoKeeper errno_keeper;
  const long result = syscall(SYS_rt_sigprocmask, -1, address & ~std::uintptr_t{7}, nullptr, sizeof(std::uint64_t));
  return result == 0 || errno != EFAULT;
}

namespace {
int never_held = 0;
}  // namespace

void NoSignals::never_hold(int signal) { never_held = signal; }
NoSignals::NoSignals() {
  sigset_t all;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&all, fault);
  if (never_held) sigdelset(&all, never_held);
  change_signal_mask(SIG_BLOCK, &all, &before_);
}
NoSignals::~NoSignals() { change_signal_mask(SIG_SETMASK, &before_, nullptr); }

namespace {

/// For systems without membarrier (old kernels, sandboxes). To take an access right to a page away from a process, the
/// kernel interrupts every processor that runs one of its threads, and an interrupt is a barrier. The virtual machines
/// of Java and .NET do the same.
bool barrier_by_a_page() {
  constexpr std::size_t page = 4096;
  void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  *static_cast<volatile char*>(memory) = 1;
  const bool done = mprotect(memory, page, PROT_READ) == 0;
  munmap(memory, page);
  return done;
}

}  // namespace

bool barrier_on_all_threads() {
  const ErrnoKeeper errno_keeper;
  static bool registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return (registered && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) || barrier_by_a_page();
}

namespace {

/// The kinds of CPU clock that Linux encodes in a clock id, together with the thread, 0 for the calling one
/// (posix-timers_types.h).
enum class ThreadClock : unsigned { TicksInAll = 0, TicksInUserMode = 1, Scheduler = 2 };

/// In nanoseconds; -1: there is no such thread.
std::int64_t thread_clock(int os_thread_id, ThreadClock kind) {
  constexpr unsigned of_a_thread = 4;
  const auto clock =
      static_cast<clockid_t>((~static_cast<unsigned>(os_thread_id) << 3) | of_a_thread | static_cast<unsigned>(kind));
  timespec t;
  if (clock_gettime(clock, &t) != 0) return -1;
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

std::int64_t thread_cpu_ns_of(int os_thread_id) { return thread_clock(os_thread_id, ThreadClock::Scheduler); }

TickTimes tick_times_of(int os_thread_id) {
  const ErrnoKeeper errno_keeper;
  // In this order, so that a tick between the two counts as one of kernel mode, and not twice.
  const std::int64_t user = thread_clock(os_thread_id, ThreadClock::TicksInUserMode);
  const std::int64_t all = thread_clock(os_thread_id, ThreadClock::TicksInAll);
  return {all, user};
}

}  // namespace refrain::platform

#include "platform/threads.hpp"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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
    // The frames of a main thread all lie below this mark; the stack grows down as it likes.
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

bool readable_word(std::uintptr_t address) {
  // The kernel copies the signal set before it looks at `how`: EFAULT means unreadable, EINVAL readable. Nothing
  // changes.
  const int saved = errno;
  const long result = syscall(SYS_rt_sigprocmask, -1, address & ~std::uintptr_t{7}, nullptr, sizeof(std::uint64_t));
  const bool readable = result == 0 || errno != EFAULT;
  errno = saved;
  return readable;
}

bool barrier_on_all_threads() {
  static bool registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return registered && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

std::int64_t thread_cpu_ns_of(int os_thread_id) {
  // Linux encodes "CPU time of that thread, by the scheduler" in the clock id (posix-timers_types.h: per thread 4,
  // sched 2).
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(os_thread_id) << 3) | 6u);
  timespec t;
  if (clock_gettime(clock, &t) != 0) return -1;
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace refrain::platform

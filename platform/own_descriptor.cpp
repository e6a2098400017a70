#include "platform/own_descriptor.hpp"

#include <algorithm>
#include <atomic>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/errno_keeper.hpp"
#include "platform/threads.hpp"

namespace refrain::platform {
namespace {

struct Budget {
  rlim_t part, most;
  std::atomic<rlim_t> taken;
};
Budget budgets[] = {{16, 256, 0}, {8, RLIM_INFINITY, 0}, {64, 64, 0}};
Budget& budget_of(DescriptorUse use) { return budgets[static_cast<unsigned>(use)]; }

}  // namespace

bool reserve_descriptor(DescriptorUse use) {
  Budget& budget = budget_of(use);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  if (budget.taken.fetch_add(1, std::memory_order_relaxed) < std::min(limit.rlim_cur / budget.part, budget.most))
    return true;
  release_descriptor(use);
  errno = EMFILE;
  return false;
}

void release_descriptor(DescriptorUse use) { budget_of(use).taken.fetch_sub(1, std::memory_order_relaxed); }

int move_out_of_the_way(int descriptor) {
  constexpr rlim_t highest = 4096, room = 1024;  // the kernel keeps a table of all numbers below
  const int saved = errno;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return descriptor;
  rlim_t base = limit.rlim_cur < highest ? limit.rlim_cur : highest;
  base = base > 2 * room ? base - room : base / 2;
  constexpr rlim_t first_beyond_standard = 3;
  if (base < first_beyond_standard) base = first_beyond_standard;
  const long moved = syscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, base);
  const bool is_in_the_way = descriptor < static_cast<int>(first_beyond_standard);
  if (moved >= 0 || is_in_the_way) syscall(SYS_close, descriptor);
  if (moved < 0 && is_in_the_way) return -1;
  errno = saved;
  return moved < 0 ? descriptor : static_cast<int>(moved);
}

bool mark_descriptor(int descriptor, int signal) {
  const f_owner_ex owner{F_OWNER_TID, thread_id()};
  return syscall(SYS_fcntl, descriptor, F_SETOWN_EX, &owner) == 0 &&
         syscall(SYS_fcntl, descriptor, F_SETSIG, signal) == 0;
}

int keep_descriptor(int opened, DescriptorUse use, int signal) {
  const int descriptor = opened < 0 ? -1 : move_out_of_the_way(opened);
  if (descriptor >= 0 && mark_descriptor(descriptor, signal)) return descriptor;
  const int error = errno;
  if (descriptor >= 0) syscall(SYS_close, descriptor);
  release_descriptor(use);
  errno = error;
  return -1;
}

bool is_marked_descriptor(int descriptor, int os_thread_id, int signal) {
  const ErrnoKeeper errno_keeper;
  f_owner_ex owner{};
  return syscall(SYS_fcntl, descriptor, F_GETSIG) == signal &&
         syscall(SYS_fcntl, descriptor, F_GETOWN_EX, &owner) == 0 && owner.type == F_OWNER_TID &&
         owner.pid == os_thread_id;
}

}  // namespace refrain::platform

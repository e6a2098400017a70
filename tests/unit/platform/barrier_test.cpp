// A barrier on all threads, even if the kernel offers none; and locks that a jump has left held.

#include <atomic>
#include <csetjmp>
#include <cstddef>
#include <errno.h>
#include <gtest/gtest.h>
#include <iterator>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "platform/owned_lock.hpp"
#include "platform/threads.hpp"

namespace refrain::platform {
namespace {

/// Makes membarrier fail, as it does in many sandboxes.
bool forbid_membarrier() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// Two threads store, and after a compiler fence or the barrier each checks whether the other has stored. At least one
/// must see it.
int rounds_in_which_neither_saw_the_other(int rounds) {
  std::atomic<int> mine{0}, its{0}, round{0}, done{0};
  int seen_there = 0, both_blind = 0;
  std::thread other([&] {
    for (int i = 1; i <= rounds; ++i) {
      while (round.load() != i) std::this_thread::yield();
      its.store(1, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      seen_there = mine.load(std::memory_order_relaxed);
      done.store(i);
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    mine = its = 0;
    round.store(i);
    mine.store(1, std::memory_order_relaxed);
    const bool barrier = barrier_on_all_threads();
    const int seen_here = its.load(std::memory_order_relaxed);
    while (done.load() != i) std::this_thread::yield();
    both_blind += !barrier || (!seen_here && !seen_there);
  }
  other.join();
  return both_blind;
}

TEST(Barrier, is_one_on_all_threads) { EXPECT_EQ(rounds_in_which_neither_saw_the_other(500), 0); }

TEST(BarrierDeathTest, is_one_where_membarrier_is_forbidden) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        if (!forbid_membarrier()) _exit(0);  // cannot be tried here
        _exit(syscall(SYS_membarrier, 0, 0, 0) == -1 && rounds_in_which_neither_saw_the_other(500) == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

sigjmp_buf back;

TEST(OwnedLock, that_a_jump_has_left_behind_does_not_stop_its_thread) {
  OwnedLock lock;
  signal(SIGUSR1, [](int) { siglongjmp(back, 1); });
  if (sigsetjmp(back, 1) == 0) {
    const Locked held(lock);
    raise(SIGUSR1);
  }
  signal(SIGUSR1, SIG_DFL);
  EXPECT_TRUE(lock.is_own());
  { const Locked again(lock); }
  EXPECT_FALSE(lock.is_own());
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock()) << "not by the same thread either";
}

}  // namespace
}  // namespace refrain::platform

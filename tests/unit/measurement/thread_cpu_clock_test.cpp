/// The clock without system calls against the kernel's own, with the thread running, sleeping, and among others.

#include "platform/thread_cpu_clock.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/rseq.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" const rseq_cs refrain_no_sequence;

namespace refrain::platform {
namespace {

/// What the kernel may take off for interrupts and other machines while it lets a watch hold: rarely much, and never
/// more than the time until the next system call.
constexpr std::int64_t largest_error_ns = ThreadCpuClock::longest_trust_ns + 1'000'000, median_error_ns = 1'000'000;

void spin(std::int64_t ns) {
  for (const std::int64_t end = monotonic_ns() + ns; monotonic_ns() < end;) {
  }
}

class ThreadCpuClockTest : public testing::Test {
 protected:
  void SetUp() override {
    start_clock();
    clock.attach();
    spin(30'000'000);  // the rate of the counter is known from here on
    (void)clock.at(now());
  }
  void TearDown() override {
    clock.detach();
    if (errors_.empty()) return;
    const auto middle = errors_.begin() + static_cast<std::ptrdiff_t>(errors_.size() / 2);
    std::nth_element(errors_.begin(), middle, errors_.end());
    EXPECT_LT(*middle, median_error_ns);
  }
  /// The clock lies between two readings of the kernel's, but for a small error.
  void expect_close() {
    const std::int64_t before = thread_cpu_ns(), read = clock.at(now()), after = thread_cpu_ns();
    errors_.push_back(std::max({read - after, before - read, std::int64_t{0}}));
    EXPECT_LT(errors_.back(), largest_error_ns);
  }
  ThreadCpuClock clock;

 private:
  std::vector<std::int64_t> errors_;
};

TEST_F(ThreadCpuClockTest, FollowsAThreadThatRuns) {
  std::int64_t last = 0;
  for (int i = 0; i < 2000; ++i) {
    spin(50'000);
    expect_close();
    const std::int64_t read = clock.at(now());
    EXPECT_GE(read, last);
    last = read;
  }
}

TEST_F(ThreadCpuClockTest, DoesNotCountSleep) {
  for (int i = 0; i < 10; ++i) {
    usleep(15'000);
    expect_close();
    spin(1'000'000);
    expect_close();
  }
}

TEST_F(ThreadCpuClockTest, DoesNotCountTheTimeOfOthers) {
  std::atomic<bool> stop{false};
  std::thread others[4];
  for (auto& other : others)
    other = std::thread([&] {
      while (!stop) {
      }
    });
  const std::int64_t begin = monotonic_ns(), cpu_begin = thread_cpu_ns();
  for (int i = 0; i < 200; ++i) {
    spin(1'000'000);
    expect_close();
  }
  const bool had_to_wait = monotonic_ns() - begin - (thread_cpu_ns() - cpu_begin) > 2 * largest_error_ns;
  stop = true;
  for (auto& other : others) other.join();
  if (!had_to_wait) GTEST_SKIP() << "there are enough processors for all threads";
}

std::uint64_t equal_readings(ThreadCpuClock& clock) {
  // The kernel's clock goes on between two readings; what is computed from the same counter value is the same.
  std::uint64_t equal = 0;
  for (int i = 0; i < 1000; ++i) {
    const Ticks t = now();
    const std::int64_t a = clock.at(t);
    equal += clock.at(t) == a;
  }
  return equal;
}

TEST_F(ThreadCpuClockTest, MakesNoSystemCallWhileTheThreadKeepsItsProcessor) {
  SwitchWatch watch;
  watch.attach();
  watch.begin();
  if (!watch.holds() || !counter_is_trusted) GTEST_SKIP() << "the kernel or the C library has no restartable sequences";
  EXPECT_GT(equal_readings(clock), 900u);
}

TEST(SwitchWatch, EndsWithASleepAndWithASignal) {
  SwitchWatch watch;
  watch.attach();
  watch.begin();
  if (!watch.holds()) GTEST_SKIP() << "the kernel or the C library has no restartable sequences";
  usleep(1000);
  EXPECT_FALSE(watch.holds());
  watch.begin();
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, &before);
  raise(SIGUSR1);
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_FALSE(watch.holds());
  watch.begin();
  watch.detach();
  EXPECT_FALSE(watch.holds());
}

TEST(SwitchWatch, IsNotUsedWhereTheKernelDoesNotClearTheField) {
  volatile std::uint64_t of_no_kernel = 0;
  EXPECT_FALSE(refrain::platform::is_cleared_by_a_switch(of_no_kernel, 64));
  EXPECT_EQ(0u, of_no_kernel);
}

TEST(SwitchWatch, IsOfOneThread) {
  SwitchWatch watch;
  watch.attach();
  watch.begin();
  if (!watch.holds()) GTEST_SKIP() << "the kernel or the C library has no restartable sequences";
  std::thread([] {
    SwitchWatch other;
    other.attach();
    EXPECT_FALSE(other.holds());
    other.begin();
    EXPECT_TRUE(other.holds());
  }).join();
  watch.detach();
}

TEST(SwitchWatch, LeavesTheProgramsOwnSequenceAlone) {
  SwitchWatch watch;
  watch.attach();
  watch.begin();
  if (!watch.holds()) GTEST_SKIP() << "the kernel or the C library has no restartable sequences";
  watch.detach();
  watch.attach();
  alignas(32) static rseq_cs own = refrain_no_sequence;
  const auto offset = *static_cast<const std::ptrdiff_t*>(dlsym(RTLD_DEFAULT, "__rseq_offset"));
  auto* structure = reinterpret_cast<rseq*>(static_cast<char*>(__builtin_thread_pointer()) + offset);
  volatile __u64& field = structure->rseq_cs;
  bool kept = false;
  for (int i = 0; i < 1000 && !kept; ++i) {  // the kernel may clear it at any time
    field = reinterpret_cast<std::uintptr_t>(&own);
    watch.begin();
    if (field == 0) continue;
    EXPECT_FALSE(watch.holds());
    kept = field == reinterpret_cast<std::uintptr_t>(&own);
  }
  EXPECT_TRUE(kept);
  watch.detach();
  field = 0;
}

}  // namespace
}  // namespace refrain::platform

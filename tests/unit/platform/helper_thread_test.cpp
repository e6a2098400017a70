#include "platform/helper_thread.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include "platform/clock.hpp"
#include "platform/threads.hpp"

namespace refrain::platform {
namespace {

using Result = HelperThread::Result;

TEST(HelperThread, works_in_a_thread_of_its_own_with_the_variables_of_its_maker) {
  static thread_local int mine = 0;
  struct Seen {
    int thread, value;
  };
  static Seen seen;
  HelperThread helper;
  ASSERT_TRUE(helper.prepare());
  mine = 42;
  errno = 7;
  auto look = [](void* argument) {
    errno = 3;
    *static_cast<Seen*>(argument) = {thread_id(), mine};
  };
  for (int i = 0; i < 100; ++i) {
    seen = {};
    ASSERT_EQ(Result::Done, helper.run(look, &seen, 5'000'000'000));
    EXPECT_NE(thread_id(), seen.thread);
    EXPECT_EQ(42, seen.value);
    EXPECT_EQ(7, errno);
    EXPECT_FALSE(helper.is_this_thread());
  }
}

TEST(HelperThread, waits_no_longer_than_asked) {
  static HelperThread helper;  // its work goes on
  ASSERT_TRUE(helper.prepare());
  const std::int64_t begin = monotonic_ns();
  const auto result = helper.run(
      [](void*) {
        const timespec second{1, 0};
        nanosleep(&second, nullptr);
      },
      nullptr, 50'000'000);
  const std::int64_t took = monotonic_ns() - begin;
  EXPECT_EQ(Result::TimedOut, result);
  EXPECT_GE(took, 50'000'000);
  EXPECT_LT(took, 900'000'000);
  EXPECT_EQ(Result::Unavailable, helper.run([](void*) {}, nullptr, 0)) << "it is at work";
}

TEST(HelperThread, waits_for_ever_without_patience) {
  HelperThread helper;
  ASSERT_TRUE(helper.prepare());
  std::atomic<bool> done{false};
  const auto result = helper.run(
      [](void* argument) {
        const timespec pause{0, 200'000'000};
        nanosleep(&pause, nullptr);
        static_cast<std::atomic<bool>*>(argument)->store(true);
      },
      &done, 0);
  EXPECT_EQ(Result::Done, result);
  EXPECT_TRUE(done.load());
}

HelperThread faulty;
volatile int* volatile nowhere = nullptr;

TEST(HelperThread, a_fault_ends_it_alone) {
  ASSERT_TRUE(faulty.prepare());
  struct sigaction ours {
  }, before;
  ours.sa_handler = [](int) {
    if (faulty.is_this_thread()) faulty.leave();
    _exit(1);
  };
  sigaction(SIGSEGV, &ours, &before);
  auto fault = [](void*) { *nowhere = 1; };
  EXPECT_EQ(Result::Faulted, faulty.run(fault, nullptr, 5'000'000'000));
  EXPECT_EQ(Result::Done, faulty.run([](void*) {}, nullptr, 5'000'000'000));
  sigaction(SIGSEGV, &before, nullptr);
}

TEST(HelperThread, without_a_stack_there_is_none) {
  HelperThread helper;
  EXPECT_EQ(Result::Unavailable, helper.run([](void*) {}, nullptr, 0));
}

}  // namespace
}  // namespace refrain::platform

/// Incremental walks against full walks against libunwind, over everything that workload.cpp does, at calls, at
/// every instruction (single steps) and at random moments (a timer). REFRAIN_TEST_CAPTURES sets the number of captures.

#include <cstdlib>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "captures.hpp"
#include "workload.hpp"

namespace refrain::unwind::test {
namespace {

using Run = void (*)(unsigned, unwind_workload::CapturePoint);

constexpr Run variants[] = {
#define UNWIND_WORKLOAD_VARIANT(name) unwind_workload::name::run,
#include "workload_variants.def"
#undef UNWIND_WORKLOAD_VARIANT
};
constexpr unsigned variant_count = std::size(variants);

std::uint64_t wanted_captures() {
  const char* value = std::getenv("REFRAIN_TEST_CAPTURES");
  return value ? std::strtoull(value, nullptr, 10) : 1'000'000;
}

void expect_all_well(const Counts& c) {
  std::printf(
      "%lu captures, %lu frames of which %.1f %% reused, %lu calls known, %lu truncated, %lu asked of libunwind, %lu "
      "unlike, %lu where "
      "tables are wrong\n",
      c.captures, c.all_frames, 100.0 * double(c.reused_frames) / double(c.all_frames), c.known, c.truncated,
      c.asked_library, c.unlike_library, c.wrong_tables);
  EXPECT_EQ(c.mismatches, 0u);
  EXPECT_EQ(c.wrong_tags, 0u);
  EXPECT_EQ(c.unlike_library, 0u);
  EXPECT_LE(c.wrong_tables * 200, c.asked_library);
  EXPECT_LE(c.truncated * 1000, c.captures);
  EXPECT_GT(c.reused_frames * 2, c.all_frames) << "hardly anything was reused: the test compares nothing";
}

Counts step_through(std::uint64_t wanted, unsigned first_seed) {
  Captures captures(1024, 61);
  for (unsigned seed = first_seed; captures.counts().captures < wanted; ++seed) {
    const Run run = variants[seed % variant_count];
    captures.step_on();
    run(seed, capture_call);
    captures.step_off();
  }
  return captures.counts();
}

TEST(Walks, walks_agree_at_every_instruction) {
  install_capture_handler(SIGTRAP);
  const Counts counts = step_through(wanted_captures(), 1);
  EXPECT_GE(counts.captures, wanted_captures());
  expect_all_well(counts);
}

TEST(Walks, walks_agree_at_every_instruction_of_three_threads_at_once) {
  install_capture_handler(SIGTRAP);
  Counts results[3];
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 3; ++i)
    threads.emplace_back([&, i] { results[i] = step_through(wanted_captures() / 20, 1000 * i); });
  Counts all;
  for (unsigned i = 0; i < 3; ++i) {
    threads[i].join();
    all += results[i];
  }
  expect_all_well(all);
}

TEST(Walks, walks_agree_at_calls_and_at_ticks) {
  install_capture_handler(SIGRTMIN);
  Captures captures(1024, 61);
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGRTMIN;
  event._sigev_un._tid = static_cast<int>(syscall(SYS_gettid));
  timer_t timer;
  ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  const itimerspec period = {{0, 100'000}, {0, 100'000}};
  timer_settime(timer, 0, &period, nullptr);
  for (unsigned seed = 0; captures.counts().captures < wanted_captures() / 4; ++seed)
    variants[seed % variant_count](seed, capture_call);
  timer_delete(timer);
  expect_all_well(captures.counts());
  EXPECT_GT(captures.counts().known * 100, captures.counts().captures);
}

}  // namespace
}  // namespace refrain::unwind::test

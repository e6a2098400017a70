#include "measurement/off_cpu.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <string_view>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "measurement/locations.hpp"
#include "platform/clock.hpp"
#include "platform/run_delay.hpp"

namespace refrain::measurement {
namespace {

constexpr std::int64_t ms = 1'000'000;

void sleep_ms(std::int64_t count) {
  timespec rest{0, static_cast<long>(count * ms)};
  while (nanosleep(&rest, &rest) != 0) {
  }
}
void compute_ms(std::int64_t count) {
  volatile double sink = 0;
  for (const std::int64_t end = platform::thread_cpu_ns() + count * ms; platform::thread_cpu_ns() < end;)
    sink = sink + 1;
}

/// A location of the calling thread.
struct OffCpuTest : testing::Test {
  void SetUp() override {
    platform::start_clock();
    make();
  }
  void TearDown() override { drop(); }
  void make() {
    location = make_detached_location({.memory = std::size_t{4} << 20, .callpath_depth = 64});
    ASSERT_TRUE(location && enter_location(*location));
    location->call.begin = platform::now();
    location->call.node = path(1);
  }
  void drop() {
    end_off_cpu(*location);
    set_own_location(nullptr);
    free_detached_location(location);
  }
  /// As the wrapper of a call does it.
  template <class F>
  void call(F f) {
    location->call.begin = end_user_time(*location);
    f();
    const platform::Ticks end = platform::now(), time = end - location->call.begin;
    if (time >= shortest_with_switch) look_at_call_end(*location, time, end);
  }
  NodeId path(std::uint64_t region) {
    bool full = false;
    return location->tree.child(root_node, NodeKind::Region, region, full);
  }
  std::int64_t off_cpu_of(NodeId node) { return location->tree.values(node)[column_of(MetricId::OffCpuMpi)]; }
  void end_part() { look_at_boundary(*location, platform::now()); }
  OffCpuTimes sum() const { return location->off_cpu.sum; }
  std::int64_t blocked() const { return sum().user - sum().waited; }

  Location* location = nullptr;
};

TEST_F(OffCpuTest, sleep_is_of_user_code_or_of_the_call_that_it_is_in) {
  sleep_ms(20);
  call([] { sleep_ms(30); });
  compute_ms(5);
  call([] { compute_ms(1); });
  sleep_ms(10);
  end_part();
  EXPECT_GE(sum().user, 29 * ms);
  EXPECT_GE(sum().mpi, 29 * ms);
  EXPECT_GE(blocked(), 29 * ms);
  EXPECT_EQ(sum().mpi, location->unit.off_mpi_ns);
  EXPECT_EQ(sum().waited, location->unit.waited_ns);
  EXPECT_GT(location->own_times[static_cast<std::size_t>(OwnTime::OffCpu)].each, 0) << "what a look costs is timed";
}

TEST_F(OffCpuTest, call_paths_have_the_time_of_their_calls) {
  const NodeId sleeps = path(2), computes = path(3);
  sleep_ms(10);
  location->call.node = sleeps;
  call([] { sleep_ms(30); });
  EXPECT_EQ(location->off_cpu.call_begin, location->call.begin);
  EXPECT_GE(location->off_cpu.call_ns, 29 * ms) << "for its event";
  sleep_ms(10);
  location->call.node = computes;
  call([] { compute_ms(1); });
  location->call.node = sleeps;
  call([] { sleep_ms(20); });
  EXPECT_LT(location->off_cpu.call_ns, off_cpu_of(sleeps) - 29 * ms + 1) << "of the last call alone";
  end_part();
  EXPECT_GE(off_cpu_of(sleeps), 49 * ms);
  EXPECT_LE(off_cpu_of(sleeps) + off_cpu_of(computes), location->unit.off_mpi_ns + ms / 10)
      << "apart from corrections of the clocks";
  EXPECT_GE(off_cpu_of(sleeps) + off_cpu_of(computes), location->unit.off_mpi_ns - ms) << "nothing is without a path";
}

/// Both have lost their processor in short calls before the thread sleeps in user code.
TEST_F(OffCpuTest, short_calls_share_what_they_were_off_the_cpu_for_by_their_time) {
  const NodeId one = path(2), other = path(3);
  end_part();
  const platform::Ticks begin = platform::now();
  sleep_ms(20);
  const platform::Ticks lasted = (platform::now() - begin) / 20;  // a millisecond, or a little more
  OffCpu& of = location->off_cpu;
  const std::int64_t before = location->unit.off_mpi_ns;
  of.short_calls[0] = {one, lasted};
  of.short_calls[1] = {other, 3 * lasted};
  of.short_call_count = 2;
  of.calls = 4 * lasted;
  count_off_cpu(*location, false);
  EXPECT_EQ(of.short_call_count, 0u);
  const std::int64_t all = location->unit.off_mpi_ns - before;
  EXPECT_GE(all, 3 * ms);
  EXPECT_NEAR(static_cast<double>(off_cpu_of(one)), static_cast<double>(all) / 4, 2);
  EXPECT_NEAR(static_cast<double>(off_cpu_of(other)), static_cast<double>(all) / 4 * 3, 2);
}

/// A call that has not lasted as long cannot have been off the CPU for all of it.
TEST_F(OffCpuTest, no_call_gets_more_than_its_time) {
  end_part();
  sleep_ms(20);
  location->call.node = path(2);
  location->call.begin = platform::now();
  const std::int64_t before = location->unit.off_mpi_ns, begin = platform::monotonic_ns();
  count_off_cpu(*location, true);  // nobody has looked where it began
  EXPECT_GE(location->unit.off_mpi_ns - before, 19 * ms);
  EXPECT_LE(off_cpu_of(path(2)), platform::monotonic_ns() - begin + ms / 10) << "the rest has no path";
}

TEST_F(OffCpuTest, while_the_measurement_is_stopped_call_paths_get_nothing) {
  location->stopped = true;
  location->call.node = path(2);
  call([] { sleep_ms(10); });
  location->stopped = false;
  EXPECT_EQ(off_cpu_of(path(2)), 0);
}

TEST_F(OffCpuTest, nothing_is_lost_whoever_looks) {
  const std::int64_t before = location->off_cpu.behind_ns;
  for (int i = 0; i < 30; ++i) {
    compute_ms(1);
    if (i % 3 == 0) sleep_ms(1);
    call([&] { i % 2 ? sleep_ms(2) : compute_ms(1); });
    if (i % 5 == 0) end_part();
  }
  std::int64_t apart_ns = ms;  // the least of some readings: the thread may lose its processor between two
  for (int i = 0; i < 20; ++i) {
    count_off_cpu(*location, false);
    const std::int64_t behind = platform::monotonic_ns() - platform::thread_cpu_ns();
    apart_ns = std::min(apart_ns, std::abs(behind - before - sum().user - sum().mpi));
  }
  EXPECT_LT(apart_ns, ms / 10);
}

/// Both threads yield to each other on one core, so that each call is short and ends with a switch.
TEST_F(OffCpuTest, short_calls_are_looked_at_together) {
  drop();
  std::atomic<bool> ends{false};
  std::thread main([&] {
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    std::thread other([&] {  // on the same core
      while (!ends.load()) sched_yield();
    });
    make();
    const auto behind = [] { return platform::monotonic_ns() - platform::thread_cpu_ns(); };
    // A thread may lose its core between a reading and the begin or the end of a call: the calls' time is kept twice.
    const std::int64_t begin = behind();
    std::int64_t least_in_calls = 0, most_in_calls = 0, switched_out = 0, before = begin;
    // Beside busy processes a yield may take milliseconds.
    const std::int64_t latest = platform::monotonic_ns() + 3'000 * ms;
    std::int64_t calls = 0;
    for (int i = 1; i <= 20'000 && platform::monotonic_ns() < latest; ++i, ++calls) {
      if (i % 200 == 0) compute_ms(1);
      if (i % 2'000 == 0) sleep_ms(2);
      std::int64_t called = 0, left = 0;
      const std::int64_t calls_at = behind();
      call([&] {
        called = behind();
        sched_yield();
        left = behind();
      });
      const std::int64_t goes_on = behind();
      least_in_calls += left - called;
      most_in_calls += goes_on - calls_at;
      switched_out += (calls_at - before > 1'000) + ((goes_on - calls_at) - (left - called) > 1'000);
      before = goes_on;
    }
    end_part();
    ends = true;
    other.join();
    const std::int64_t off = behind() - begin;
    // A counter of 1 GHz tells 50 us apart at worst.
    const std::int64_t slack = switched_out * ms / 20 + ms;
    EXPECT_GT(least_in_calls, 5 * ms) << "nothing was tried: the two threads do not switch";
    EXPECT_GT(sum().mpi, least_in_calls - slack);
    EXPECT_LT(sum().mpi, most_in_calls + slack);
    EXPECT_GT(sum().user, off - most_in_calls - slack);
    EXPECT_LT(sum().user, off - least_in_calls + slack);
    const std::int64_t looks = location->own_times[static_cast<std::size_t>(OwnTime::OffCpu)].each;
    if (most_in_calls < calls * 5'000) {
      EXPECT_LT(looks, calls * 3 / 4) << "each call was looked at";
    }
    drop();
  });
  main.join();
  make();
}

/// Two short calls that ended before the call in progress, which has just begun.
TEST_F(OffCpuTest, calls_of_one_look_share_its_time_by_how_long_they_lasted) {
  bool full = false;
  const auto path = [&](std::uint64_t key) { return location->tree.child(root_node, NodeKind::Region, key, full); };
  const NodeId one = path(1), three = path(2), last = path(3);
  count_off_cpu(*location, false);
  const std::int64_t before = location->unit.off_mpi_ns;
  const platform::Ticks begin = platform::now();
  compute_ms(20);
  sleep_ms(20);
  const platform::Ticks lasted = platform::now() - begin;
  OffCpu& of = location->off_cpu;
  of.short_calls[0] = {one, lasted / 4};
  of.short_calls[1] = {three, lasted - lasted / 4};
  of.short_call_count = 2;
  of.calls = lasted;
  location->call.node = last;
  location->call.begin = platform::now();
  count_off_cpu(*location, true);
  const auto of_path = [&](NodeId node) { return location->tree.values(node)[column_of(MetricId::OffCpuMpi)]; };
  const std::int64_t all = location->unit.off_mpi_ns - before;
  EXPECT_GE(all, 19 * ms);
  EXPECT_GE(of_path(one) + of_path(three), 19 * ms);
  EXPECT_LE(of_path(one) + of_path(three) + of_path(last), all) << "no more than there is";
  EXPECT_NEAR(3.0 * static_cast<double>(of_path(one)), static_cast<double>(of_path(three)), 8);
}

TEST_F(OffCpuTest, without_a_watch_the_clocks_are_read_after_long_stretches) {
  location->cpu_clock.watch().detach();
  ASSERT_FALSE(location->cpu_clock.watch().works());
  sleep_ms(20);
  call([] { sleep_ms(30); });
  EXPECT_GE(sum().user, 19 * ms);
  EXPECT_GE(sum().mpi, 29 * ms);
}

TEST_F(OffCpuTest, without_a_descriptor_run_delay_is_divided_in_proportion) {
  drop();
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit few = before;
  few.rlim_cur = 40;
  setrlimit(RLIMIT_NOFILE, &few);
  make();
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_EQ(location->off_cpu.run_delay.ns(), platform::RunDelay::unknown);
  sleep_ms(20);
  call([] { sleep_ms(60); });
  EXPECT_GT(location->off_cpu.unread.user, 19 * ms);
  EXPECT_GT(location->off_cpu.unread.mpi, 59 * ms);
  location->off_cpu.delay_ns -= 8 * ms;  // as if it had waited for so long
  const std::int64_t before_ns = location->off_cpu.delay_ns;
  end_part();
  EXPECT_EQ(location->off_cpu.unread.user, 0);
  const auto grown = static_cast<double>(location->off_cpu.delay_ns - before_ns),
             user = static_cast<double>(sum().user), mpi = static_cast<double>(sum().mpi);
  EXPECT_GE(grown, 8.0 * ms);
  EXPECT_NEAR(static_cast<double>(sum().waited), grown * user / (user + mpi), 1);
}

/// Of kernels that do not count it, nothing is known.
bool is_counted() {
  return platform::RunDelay::ns_of(static_cast<int>(syscall(SYS_gettid))) != platform::RunDelay::unknown;
}

TEST_F(OffCpuTest, without_a_watch_run_delay_is_read_only_when_time_is_missing) {
  if (!is_counted()) GTEST_SKIP() << "this kernel does not count run delay";
  location->cpu_clock.watch().detach();
  count_off_cpu(*location, false);
  constexpr std::int64_t planted = 5 * ms;  // seems to have been waited for once run delay is read
  location->off_cpu.delay_ns -= planted;
  bool was_read = true;
  for (int i = 0; i < 200 && was_read; ++i) {  // one of them is interrupted by nobody
    const std::int64_t before = sum().waited;
    compute_ms(1);
    count_off_cpu(*location, false);
    was_read = sum().waited - before >= planted;
    if (was_read) location->off_cpu.delay_ns -= planted;
  }
  EXPECT_FALSE(was_read);
  const std::int64_t before = sum().waited;
  sleep_ms(10);
  count_off_cpu(*location, false);
  EXPECT_GE(sum().waited - before, planted);
}

TEST(RunDelay, is_that_of_the_kernel) {
  if (!is_counted()) GTEST_SKIP() << "this kernel does not count run delay";
  platform::RunDelay delay;
  errno = 0;
  ASSERT_TRUE(delay.open());
  const int self = static_cast<int>(syscall(SYS_gettid));
  const std::int64_t before = delay.ns();
  ASSERT_NE(before, platform::RunDelay::unknown);
  for (int i = 0; i < 100; ++i) sleep_ms(1);
  const std::int64_t after = platform::RunDelay::ns_of(self);
  EXPECT_GE(after, before);
  EXPECT_GE(delay.ns(), after);
  delay.close();
  EXPECT_EQ(delay.ns(), platform::RunDelay::unknown);
  EXPECT_EQ(platform::RunDelay::ns_of(999'999'999), platform::RunDelay::unknown);
  EXPECT_EQ(errno, 0);
}

/// Numbers of descriptors of files of this name.
std::vector<int> descriptors_of(std::string_view name) {
  std::vector<int> found;
  for (int fd = 3; fd < 4096; ++fd) {
    char path[64], target[256] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (readlink(path, target, sizeof target - 1) > 0 && std::string_view(target).ends_with(name)) found.push_back(fd);
  }
  return found;
}

TEST(RunDelay, a_descriptor_that_the_program_has_closed_is_not_touched) {
  if (!is_counted()) GTEST_SKIP() << "this kernel does not count run delay";
  const std::vector<int> others = descriptors_of("/schedstat");
  platform::RunDelay delay;
  ASSERT_TRUE(delay.open());
  std::vector<int> ours = descriptors_of("/schedstat");
  std::erase_if(ours, [&](int fd) { return std::ranges::find(others, fd) != others.end(); });
  ASSERT_EQ(ours.size(), 1u);
  close(ours[0]);
  ASSERT_EQ(dup2(0, ours[0]), ours[0]);  // the program's own file now has the number
  EXPECT_EQ(delay.ns(), platform::RunDelay::unknown);
  delay.close();
  EXPECT_GE(fcntl(ours[0], F_GETFD), 0) << "the program's file was closed";
  close(ours[0]);
}

TEST_F(OffCpuTest, no_descriptor_is_left_behind) {
  if (!is_counted()) GTEST_SKIP() << "this kernel does not count run delay";
  const std::size_t before = descriptors_of("/schedstat").size();
  end_off_cpu(*location);
  EXPECT_EQ(descriptors_of("/schedstat").size(), before - 1);
  (void)platform::RunDelay::ns_of(location->os_thread_id);
  EXPECT_EQ(descriptors_of("/schedstat").size(), before - 1);
}

/// What MPI_Pcontrol has stopped is no time of a region.
TEST_F(OffCpuTest, what_passes_while_the_measurement_is_stopped_is_not_counted_in_the_sum) {
  end_part();
  const OffCpuTimes before = sum();
  location->stopped = true;
  sleep_ms(20);
  const std::int64_t resumed = platform::monotonic_ns();
  (void)take_off_cpu(*location, false);
  location->stopped = false;
  sleep_ms(5);
  end_part();
  EXPECT_GE(sum().user - before.user, 4 * ms);
  EXPECT_LE(sum().user - before.user, platform::monotonic_ns() - resumed + ms / 10);
}

/// What the calling thread has been off the CPU for since it began, at least and at most: it may lose its core between
/// two clocks.
struct Off {
  std::int64_t least = platform::monotonic_ns(), cpu = platform::thread_cpu_ns(), most = platform::monotonic_ns() - cpu;
  Off() { least -= cpu; }
};

/// As after a jump out of a call: when that was is known, but not that the thread slept after it.
TEST_F(OffCpuTest, what_comes_after_a_call_that_nobody_saw_end_is_user_code) {
  constexpr std::int64_t clocks_differ = ms / 10;
  const Off first;
  end_part();
  const Off begin;
  const OffCpuTimes before = sum();
  sleep_ms(10);
  const std::int64_t not_before = platform::monotonic_ns();
  const platform::Ticks until = platform::now();
  const std::int64_t not_after = platform::monotonic_ns();
  sleep_ms(30);
  const Off end;
  const std::int64_t least_after = platform::monotonic_ns() - not_after;
  count_off_cpu_of_call(*location, until);
  const std::int64_t most_after = platform::monotonic_ns() - not_before;
  const Off last;
  const std::int64_t mpi = sum().mpi - before.mpi, user = sum().user - before.user;
  const std::int64_t least = end.least - begin.most, most = last.most - first.least;
  EXPECT_GE(least, 39 * ms);
  EXPECT_GE(user + mpi, least - clocks_differ);
  EXPECT_LE(user + mpi, most + clocks_differ);
  EXPECT_GE(user, std::min(least_after, least) - clocks_differ);
  EXPECT_LE(user, std::min(most_after, most) + clocks_differ);
}

/// A helper thread has the variables of its maker: it must not take its own clock for that of the location.
TEST_F(OffCpuTest, another_thread_reads_the_clock_of_the_location) {
  compute_ms(300);
  end_part();
  OffCpuTimes seen;
  std::thread([&] {
    set_own_location(location);
    seen = off_cpu_since_look(*location, true);
    set_own_location(nullptr);
  }).join();
  EXPECT_LT(seen.mpi, 250 * ms);
}

TEST_F(OffCpuTest, a_glance_changes_nothing) {
  sleep_ms(10);
  const OffCpuTimes first = off_cpu_since_look(*location, false), second = off_cpu_since_look(*location, true);
  EXPECT_GE(first.user, 9 * ms);
  EXPECT_EQ(first.mpi, 0);
  EXPECT_GE(second.mpi, 9 * ms);
  EXPECT_GE(second.in_call, 9 * ms);
  EXPECT_LE(second.in_call, second.mpi);
  EXPECT_EQ(off_cpu_of(path(1)), 0);
  end_part();
  EXPECT_GE(sum().user, 9 * ms);
}

}  // namespace
}  // namespace refrain::measurement

// A thread has one call in progress at most: what is called within it passes through. Its time is in the units that it
// lasts through, and it is noted whole; when it is left by a jump, as far as it was seen.

#include "measurement/open_call.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csetjmp>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <span>
#include <thread>
#include <time.h>
#include <utility>
#include <vector>

#include "config/trace_selection.hpp"
#include "measurement/entrance.hpp"
#include "measurement/event_log.hpp"
#include "measurement/iterations.hpp"
#include "measurement/locations.hpp"
#include "measurement/marks.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/clock.hpp"
#include "unwind/walker.hpp"

namespace refrain::measurement {
namespace {

using platform::Ticks;

constexpr RegionId outer{1}, inner{2};
constexpr std::size_t visits = column_of(MetricId::Visits), time_column = column_of(MetricId::Time);

void spin() {
  for (const std::int64_t end = platform::monotonic_ns() + 300'000; platform::monotonic_ns() < end;) {
  }
}

class OpenCalls : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    platform::start_clock();
    ASSERT_TRUE(unwind::start_rule_cache());
  }
  void SetUp() override {
    messages_go_uncounted.store(false);
    location = make_detached_location({.memory = std::size_t{4} << 20, .callpath_depth = 64});
    start_events({.selection = config::parse_trace("all"), .memory = std::size_t{1} << 20});
    begin_events(*location);
    ASSERT_TRUE(location->events && enter_location(*location));
  }
  void TearDown() override {
    set_own_location(nullptr);
    free_detached_location(location);
    start_events({});  // other tests keep none
  }

  template <class F>
  [[gnu::noinline]] void call(RegionId region, F&& within) {
    measured(
        region,
        [&] {
          within();
          return 0;
        },
        [](MpiCall&, int) {});
  }
  /// A mark of the program, at the place that calls this.
  template <class F>
  [[gnu::noinline]] void mark(F&& make) {
    const platform::Registers caller = unwind::calling_registers();
    ASSERT_TRUE(enter(*location, caller));
    make(caller, begin_own_time(*location));
    leave(*location, Inside::User);
  }
  /// A function of the program that makes one call.
  [[gnu::noinline]] void exchange() {
    call(outer, [] {});
    asm volatile("");
  }
  /// What a boundary does that a tick notices now.
  void end_unit_here() {
    const Hold hold(*location, Inside::Call, nullptr);
    const Ticks now = platform::now();
    cut_open_call(*location, now, now);
    count_unit_outside(*location);
  }
  /// Visits and time of all nodes of a region, in the unit in progress and outside of iterations.
  std::pair<std::int64_t, Ticks> of(RegionId region) const {
    std::pair<std::int64_t, Ticks> sum{};
    for (std::uint32_t id = 0; id < location->tree.size(); ++id) {
      const Node& n = location->tree.node(NodeId{id});
      if (n.kind != NodeKind::Region || n.key != static_cast<std::uint64_t>(region) || !n.values) continue;
      sum.first += location->tree.values_of(n)[visits] + location->tree.outside_values_of(n)[visits];
      sum.second += location->tree.values_of(n)[time_column] + location->tree.outside_values_of(n)[time_column];
    }
    return sum;
  }
  /// What was noted.
  std::vector<events::Record> noted() const {
    std::vector<events::Record> records;
    const events::Block block = location->events->records.until(location->events->records.end());
    events::Context context = block.begin;
    for (std::span<const std::byte> rest = block.records; !rest.empty();) {
      const std::size_t size = events::decode(rest, context, records.emplace_back());
      if (size == 0) break;
      rest = rest.subspan(size);
    }
    EXPECT_EQ(records.size(), block.count);
    return records;
  }
  void expect_all_time_is_accounted_for(std::int64_t calls) {
    EXPECT_EQ(location->inside.load(), Inside::User);
    EXPECT_EQ(location->unit.mpi + location->outside.mpi, of(outer).second);
    EXPECT_EQ(location->unit.mpi_calls + location->outside.mpi_calls, calls);
    EXPECT_EQ(of(outer).first, calls);
    EXPECT_EQ(of(inner).first, 0);
  }

  Location* location = nullptr;
};

TEST_F(OpenCalls, what_is_called_within_one_passes_through) {
  bool was_called = false;
  call(outer, [&] {
    spin();
    call(inner, [&] {
      was_called = true;
      EXPECT_EQ(location->inside.load(), Inside::Call);
      call(outer, [] { spin(); });
    });
    EXPECT_EQ(location->call.region, outer);
  });
  EXPECT_TRUE(was_called);
  expect_all_time_is_accounted_for(1);
  EXPECT_FALSE(messages_go_uncounted.load()) << "it is part of the call around it";
  const auto records = noted();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].kind, events::Kind::Call);
  EXPECT_EQ(records[0].region, static_cast<std::uint16_t>(outer));
  EXPECT_TRUE(records[0].is_whole);
  EXPECT_FALSE(records[0].is_within);
  EXPECT_EQ(of(outer).second, records[0].time - records[0].begin) << "no tick has come";
}

TEST_F(OpenCalls, one_in_which_the_thread_slept_has_that_in_its_event) {
  call(outer, [] { spin(); });
  call(outer, [] {
    timespec rest{0, 10'000'000};
    while (nanosleep(&rest, &rest) != 0) {
    }
  });
  const auto records = noted();
  ASSERT_EQ(records.size(), 2U);
  for (const events::Record& r : records) EXPECT_LE(r.value, r.time - r.begin) << "a tick is a nanosecond at most";
  EXPECT_GE(records[1].value, 9'000'000);
}

TEST_F(OpenCalls, a_unit_that_ends_gets_what_has_passed) {
  call(outer, [&] {
    spin();
    end_unit_here();
    EXPECT_EQ(location->outside.mpi, of(outer).second);
    EXPECT_GT(location->outside.mpi, 0);
    spin();
    end_unit_here();
    spin();
  });
  expect_all_time_is_accounted_for(1);
  const auto records = noted();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_TRUE(records[0].is_whole);
  EXPECT_EQ(records[0].time - records[0].begin, of(outer).second) << "noted whole";
}

std::jmp_buf back;

TEST_F(OpenCalls, one_that_was_left_by_a_jump_is_counted_at_the_next_call) {
  if (setjmp(back) == 0) call(outer, [] { longjmp(back, 1); });
  EXPECT_EQ(location->inside.load(), Inside::Call);
  call(outer, [] { spin(); });
  expect_all_time_is_accounted_for(2);
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::CallAbandoned)], 1);
  EXPECT_TRUE(messages_go_uncounted.load());
  const auto records = noted();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_FALSE(records[0].is_whole);
  EXPECT_TRUE(records[1].is_whole);
  EXPECT_LE(records[0].time, records[1].begin);
}

TEST_F(OpenCalls, one_in_which_the_thread_ends_does_not_end_before_it_begins) {
  const Ticks before = platform::now();
  if (setjmp(back) == 0) call(outer, [] { longjmp(back, 1); });
  end_location(*location);
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::CallAbandoned)], 1);
  const auto records = noted();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].kind, events::Kind::Call);
  EXPECT_FALSE(records[0].is_whole);
  EXPECT_GE(records[0].begin, before);
  EXPECT_GE(records[0].time, records[0].begin);
  EXPECT_EQ(records[1].kind, events::Kind::ThreadEnd);
}

TEST_F(OpenCalls, one_within_that_is_left_by_a_jump_changes_nothing) {
  call(outer, [&] {
    if (setjmp(back) == 0) call(inner, [] { longjmp(back, 1); });
    spin();
  });
  expect_all_time_is_accounted_for(1);
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::CallAbandoned)], 0);
  ASSERT_EQ(noted().size(), 1U);
  EXPECT_TRUE(noted()[0].is_whole);
}

alignas(64) std::byte fiber_stack[std::size_t{64} << 10];

TEST_F(OpenCalls, on_another_stack_one_that_passes_through_leaves_messages_uncounted) {
  call(outer, [&] {
    const auto on_fiber = reinterpret_cast<std::uintptr_t>(fiber_stack + sizeof fiber_stack / 2);
    EXPECT_EQ(nullptr, begin_call(inner, 1, on_fiber, 0).location);
  });
  expect_all_time_is_accounted_for(1);
  EXPECT_TRUE(messages_go_uncounted.load());
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::ThreadUnmeasured)], 1);
}

TEST_F(OpenCalls, by_a_known_path_count_in_the_unit_in_progress) {
  int units = 3, times = 4;
  asm volatile("" : "+r"(units), "+r"(times));  // one place calls, whatever the compiler makes of loops
  for (int unit = 0; unit < units; ++unit) {
    for (int i = 0; i < times; ++i) call(outer, [] {});
    ASSERT_EQ(location->tree.touched().size(), 1U) << "unit " << unit;
    const Node& node = location->tree.node(NodeId{location->tree.touched()[0]});
    EXPECT_EQ(location->tree.values_of(node)[visits], times) << "unit " << unit;
    const Hold hold(*location, Inside::User, nullptr);
    count_unit_outside(*location);
  }
  EXPECT_EQ(of(outer).first, units * times);
}

/// The frame of the function is the same in both, but for the word that it returns by.
TEST_F(OpenCalls, keep_the_paths_of_a_function_that_two_places_call) {
  const char* places = "aabbabaab";
  asm volatile("" : "+r"(places));
  for (; *places; ++places) {
    if (*places == 'a') {
      exchange();
      asm volatile("# a");
    } else {
      exchange();
      asm volatile("# b");
    }
  }
  std::vector<std::int64_t> counts;
  for (std::uint32_t id = 0; id < location->tree.size(); ++id) {
    const Node& n = location->tree.node(NodeId{id});
    if (n.kind == NodeKind::Region && n.values) counts.push_back(location->tree.values_of(n)[visits]);
  }
  std::ranges::sort(counts);
  EXPECT_EQ(counts, (std::vector<std::int64_t>{4, 5}));
}

/// Another thread that holds a location for a moment, as a snapshot does, and looks at it just before it lets go.
class Holder {
 public:
  template <class Look>
  Holder(Location& held, Look look)
      : thread_([this, &held, look] {
          EXPECT_TRUE(pause_one(held));
          is_held_.store(true);
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          seen_ = look();
          held.gate.store(Gate::Open, std::memory_order_release);  // it is in no list
          resume_others();
          wake_at_gates();
        }) {
    while (!is_held_.load()) std::this_thread::yield();
  }
  std::int64_t seen() {
    thread_.join();
    return seen_;
  }

 private:
  std::atomic<bool> is_held_{false};
  std::int64_t seen_ = 0;
  std::thread thread_;
};

TEST_F(OpenCalls, wait_while_their_thread_is_held) {
  std::optional<Holder> holder;
  call(outer, [&] { holder.emplace(*location, [this] { return location->unit.mpi_calls; }); });
  EXPECT_EQ(holder->seen(), 0) << "it was counted meanwhile";
  EXPECT_EQ(location->unit.mpi_calls, 1);
  const Ticks begin = location->call.begin;
  holder.emplace(*location, [this] { return location->call.begin; });
  call(outer, [] {});
  EXPECT_EQ(holder->seen(), begin) << "the next one began meanwhile";
  EXPECT_EQ(location->unit.mpi_calls, 2);
}

TEST_F(OpenCalls, that_find_no_room_are_lost_and_counted) {
  constexpr std::int64_t made = 100'000;  // of 7 bytes and more each, where at most 256 KiB are
  for (std::int64_t i = 0; i < made; ++i) call(outer, [] {});
  {
    const Hold hold(*location, Inside::User, nullptr);
    note_cut(*location, outside_of_iterations, platform::now(), false);
  }
  const std::int64_t lost = location->losses[static_cast<std::size_t>(Loss::EventsLost)];
  EXPECT_GT(lost, 0);
  EXPECT_EQ(std::ranges::count(noted(), events::Kind::Call, &events::Record::kind) + lost, made);
  // What asks to be written.
  another_is_full_of_events.store(false);
  snapshot_due.store(std::numeric_limits<Ticks>::max());
}

TEST_F(OpenCalls, that_fill_the_buffer_in_an_iteration_leave_its_thread_to_end) {
  mark([&](const auto& at, const auto& entered) { begin_region(*location, RegionId{4096}, at, entered); });
  mark([&](const auto& at, const auto& entered) { begin_loop(*location, RegionId{4097}, at, entered); });
  mark([&](const auto& at, const auto& entered) { begin_iteration(*location, at, entered); });
  ASSERT_TRUE(location->iterations && location->iterations->in_iteration);
  ASSERT_EQ(location->marks->count, 2U);
  while (location->events->records.dropped() == 0) call(outer, [] {});
  end_location(*location);
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::MarkMisused)], 1) << "the iteration has no end";
  // What asks to be written.
  another_is_full_of_events.store(false);
  snapshot_due.store(std::numeric_limits<Ticks>::max());
}

TEST_F(OpenCalls, are_not_noted_where_no_events_are_kept) {
  location->keeps_events = false;
  call(outer, [] {});
  EXPECT_TRUE(noted().empty());
  location->keeps_events = true;
  call(outer, [] {});
  EXPECT_EQ(noted().size(), 1U);
}

}  // namespace
}  // namespace refrain::measurement

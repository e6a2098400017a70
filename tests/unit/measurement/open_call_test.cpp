// The call in progress: what is called within it belongs to it, units that end get their parts of its time, and one
// that was left by a jump is counted once. Its records.

#include "measurement/open_call.hpp"

#include <csetjmp>
#include <functional>
#include <gtest/gtest.h>
#include <ucontext.h>
#include <vector>

#include "measurement/event_log.hpp"
#include "measurement/locations.hpp"
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
    start_events({.selection = config::parse_trace("all"), .memory = std::size_t{1} << 20});
  }
  static void TearDownTestSuite() { start_events({}); }
  void SetUp() override {
    location = make_detached_location({.memory = std::size_t{4} << 20, .callpath_depth = 64});
    ASSERT_TRUE(location);
    begin_events(*location);
    ASSERT_TRUE(location->keeps_events && enter_location(*location));
    messages_go_uncounted = false;
  }
  void TearDown() override {
    set_own_location(nullptr);
    free_detached_location(location);
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
  /// What a boundary does that a tick notices now.
  void end_unit_here() {
    const Hold hold(*location, Inside::Call, nullptr);
    const Ticks now = platform::now();
    cut_open_call(*location, now, now);
    settle_unit(*location);
  }
  /// Of all nodes of a region: visits and time, settled or not.
  std::pair<std::int64_t, Ticks> of(RegionId region) const {
    std::pair<std::int64_t, Ticks> sum{};
    for (std::uint32_t id = 0; id < location->tree.size(); ++id) {
      const Node& n = location->tree.node(NodeId{id});
      if (n.kind != NodeKind::Region || n.key != static_cast<std::uint64_t>(region) || !n.values) continue;
      sum.first += location->tree.values_of(n)[visits] + location->tree.settled_of(n)[visits];
      sum.second += location->tree.values_of(n)[time_column] + location->tree.settled_of(n)[time_column];
    }
    return sum;
  }
  void expect_all_time_is_accounted_for(std::int64_t calls) {
    EXPECT_EQ(location->inside.load(), Inside::User);
    EXPECT_EQ(location->unit.mpi + location->settled.mpi, of(outer).second + of(inner).second);
    EXPECT_EQ(location->unit.mpi_calls + location->settled.mpi_calls, calls);
  }
  std::vector<events::Record> records() const {
    const events::Block all = location->event_head.records.until(location->event_head.records.end());
    std::vector<events::Record> found;
    events::Context context = all.begin;
    for (std::size_t at = 0; at < all.records.size();) {
      const std::size_t bytes = events::decode(all.records.subspan(at), context, found.emplace_back());
      EXPECT_GT(bytes, 0U);
      if (bytes == 0) break;
      at += bytes;
    }
    return found;
  }

  Location* location = nullptr;
};

TEST_F(OpenCalls, what_is_called_within_passes_through_and_belongs_to_the_call) {
  call(outer, [&] {
    spin();
    call(inner, [] { spin(); });
    call(inner, [&] { call(inner, [] { spin(); }); });
  });
  expect_all_time_is_accounted_for(1);
  EXPECT_EQ(of(outer).first, 1);
  EXPECT_EQ(of(inner).first, 0);
  const auto all = records();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].kind, events::Kind::Call);
  EXPECT_EQ(all[0].region, static_cast<std::uint16_t>(outer));
  EXPECT_TRUE(all[0].is_whole);
  EXPECT_EQ(location->tree.node(NodeId{all[0].node}).key, static_cast<std::uint64_t>(outer));
  EXPECT_EQ(of(outer).second, all[0].time - all[0].begin) << "no tick has come";
  EXPECT_FALSE(messages_go_uncounted) << "it is on the same stack";
}

TEST_F(OpenCalls, a_unit_that_ends_gets_what_has_passed) {
  call(outer, [&] {
    spin();
    end_unit_here();
    EXPECT_EQ(location->settled.mpi, of(outer).second);
    EXPECT_GT(location->settled.mpi, 0);
    spin();
    end_unit_here();
    spin();
  });
  expect_all_time_is_accounted_for(1);
  EXPECT_EQ(of(outer).first, 1);
  const auto all = records();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].is_whole);
  EXPECT_EQ(all[0].time - all[0].begin, of(outer).second) << "it has one record, of all its time";
}

std::jmp_buf back;

TEST_F(OpenCalls, one_that_was_left_by_a_jump_is_counted_once_at_the_next_call) {
  if (setjmp(back) == 0) call(outer, [] { longjmp(back, 1); });
  call(inner, [] { spin(); });
  expect_all_time_is_accounted_for(2);
  EXPECT_EQ(of(outer).first, 1);
  EXPECT_EQ(of(inner).first, 1);
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::CallAbandoned)], 1);
  EXPECT_TRUE(messages_go_uncounted);
  const auto all = records();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_FALSE(all[0].is_whole);
  EXPECT_TRUE(all[1].is_whole);
}

TEST_F(OpenCalls, one_within_that_was_left_by_a_jump_changes_nothing) {
  call(outer, [&] {
    if (setjmp(back) == 0) call(inner, [] { longjmp(back, 1); });
    spin();
  });
  expect_all_time_is_accounted_for(1);
  EXPECT_EQ(of(outer).first, 1);
  EXPECT_EQ(of(inner).first, 0);
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::CallAbandoned)], 0);
  EXPECT_EQ(records().size(), 1U);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they do not know the other stack

ucontext_t here, fiber;
std::function<void()> on_fiber;

TEST_F(OpenCalls, one_on_another_stack_passes_through_and_ends_sequence_numbers) {
  std::vector<char> stack(std::size_t{1} << 18);
  on_fiber = [this] { call(inner, [] { spin(); }); };
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack.data();
  fiber.uc_stack.ss_size = stack.size();
  fiber.uc_link = &here;
  makecontext(
      &fiber, [] { on_fiber(); }, 0);
  call(outer, [] { swapcontext(&here, &fiber); });
  expect_all_time_is_accounted_for(1);
  EXPECT_EQ(of(outer).first, 1);
  EXPECT_EQ(of(inner).first, 0);
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::ThreadUnmeasured)], 1);
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::CallAbandoned)], 0);
  EXPECT_TRUE(messages_go_uncounted);
  EXPECT_EQ(records().size(), 1U);
}

#endif

TEST_F(OpenCalls, one_that_is_in_progress_at_the_end_has_a_record_that_is_not_whole) {
  call(outer, [&] {
    const Hold hold(*location, Inside::Call, nullptr);
    end_call_of_events(*location, platform::now());
  });
  const auto all = records();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_FALSE(all[0].is_whole);
  EXPECT_EQ(all[0].begin, all[1].begin);
  EXPECT_TRUE(all[1].is_whole);
}

TEST_F(OpenCalls, nothing_is_kept_where_nobody_listens) {
  location->keeps_events = false;
  call(outer, [] {});
  EXPECT_EQ(records().size(), 0U);
  EXPECT_EQ(of(outer).first, 1);
}

}  // namespace
}  // namespace refrain::measurement

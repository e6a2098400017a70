// Calls of another source within one of MPI: whose time is whose, also when units end, the measurement stops, and calls
// are left by a jump. What is handed over of them.

#include "measurement/open_call.hpp"

#include <csetjmp>
#include <gtest/gtest.h>
#include <vector>

#include "measurement/consumers.hpp"
#include "measurement/locations.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/clock.hpp"
#include "unwind/walker.hpp"

namespace refrain::measurement {
namespace {

using platform::Ticks;

constexpr RegionId outer{1}, inner{2};
constexpr std::size_t visits = column_of(MetricId::Visits), time_column = column_of(MetricId::Time);

std::vector<CallRecord> handed_over;

void spin() {
  for (const std::int64_t end = platform::monotonic_ns() + 300'000; platform::monotonic_ns() < end;) {
  }
}

class OpenCalls : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    platform::start_clock();
    ASSERT_TRUE(unwind::start_rule_cache());
    add_consumer({.call = [](Location&, const CallRecord& call) { handed_over.push_back(call); }}, {Wish::Calls});
  }
  void SetUp() override {
    location = make_detached_location({.memory = std::size_t{4} << 20, .callpath_depth = 64});
    ASSERT_TRUE(location && enter_location(*location));
    location->wanted = first_wishes();
    handed_over.clear();
  }
  void TearDown() override {
    set_own_location(nullptr);
    free_detached_location(location);
  }

  template <class F>
  [[gnu::noinline]] void call_of_mpi(F&& within) {
    measured(
        outer,
        [&] {
          within();
          return 0;
        },
        [](MpiCall&, int) {});
  }
  template <class F>
  [[gnu::noinline]] void call_within(F&& within) {
    const BegunCall begun = begin_call_within(*location, inner, ClassOfTime::Io, calling_registers());
    run_call(
        begun, [] {},
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
    cut_open_calls(*location, now, now);
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
    EXPECT_EQ(location->calls_around, 0);
    EXPECT_EQ(location->unit.mpi + location->settled.mpi, of(outer).second + of(inner).second);
    EXPECT_EQ(location->unit.mpi_calls + location->settled.mpi_calls, calls);
  }

  Location* location = nullptr;
};

TEST_F(OpenCalls, each_has_its_own_time) {
  Ticks alone = 0;
  call_of_mpi([&] {
    spin();
    const Ticks begin = platform::now();
    call_within([] { spin(); });
    call_within([&] { call_within([] { spin(); }); });
    alone = platform::now() - begin;
    spin();
  });
  expect_all_time_is_accounted_for(1);
  EXPECT_EQ(of(outer).first, 1);
  EXPECT_EQ(of(inner).first, 3);
  EXPECT_LE(of(inner).second, alone);
  ASSERT_EQ(handed_over.size(), 4U);
  const CallRecord& last = handed_over[3];
  EXPECT_EQ(last.region, outer);
  EXPECT_EQ(of(outer).second + of(inner).second, last.end - last.begin) << "no tick has come";
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(handed_over[i].region, inner);
    EXPECT_EQ(handed_over[i].time, ClassOfTime::Io);
    EXPECT_TRUE(handed_over[i].is_whole);
    EXPECT_LT(last.begin, handed_over[i].begin);
    EXPECT_LT(handed_over[i].end, last.end);
  }
  EXPECT_EQ(handed_over[0].node, handed_over[2].node) << "directly in the call of MPI";
  EXPECT_EQ(location->tree.node(handed_over[0].node).parent, static_cast<std::uint32_t>(last.node));
  EXPECT_EQ(location->tree.node(handed_over[1].node).parent, static_cast<std::uint32_t>(handed_over[0].node));
}

TEST_F(OpenCalls, a_unit_that_ends_gets_what_has_passed_of_all_of_them) {
  call_of_mpi([&] {
    spin();
    call_within([&] {
      spin();
      end_unit_here();
      EXPECT_EQ(location->settled.mpi, of(outer).second + of(inner).second);
      spin();
      end_unit_here();
    });
    spin();
    end_unit_here();
    spin();
  });
  expect_all_time_is_accounted_for(1);
  EXPECT_EQ(of(outer).first, 1);
  EXPECT_EQ(of(inner).first, 1);
  ASSERT_EQ(handed_over.size(), 2U);
  for (const CallRecord& call : handed_over) EXPECT_TRUE(call.is_whole);
  EXPECT_EQ(handed_over[1].end - handed_over[1].begin, of(outer).second + of(inner).second) << "handed over whole";
  EXPECT_EQ(handed_over[0].end - handed_over[0].begin, of(inner).second);
}

TEST_F(OpenCalls, no_more_than_there_is_room_for) {
  call_of_mpi([&] { call_within([&] { call_within([&] { call_within([&] { call_within([] { spin(); }); }); }); }); });
  expect_all_time_is_accounted_for(1);
  EXPECT_EQ(of(inner).first, most_calls_around);
}

TEST_F(OpenCalls, none_of_another_source_outside_of_mpi) {
  call_within([] { spin(); });
  EXPECT_EQ(of(inner).first, 0);
  EXPECT_TRUE(handed_over.empty());
}

std::jmp_buf back;

TEST_F(OpenCalls, one_that_was_left_by_a_jump_is_counted_when_the_call_around_it_ends) {
  call_of_mpi([&] {
    if (setjmp(back) == 0) call_within([&] { call_within([] { longjmp(back, 1); }); });
    spin();
  });
  expect_all_time_is_accounted_for(1);
  EXPECT_EQ(of(inner).first, 2);
  EXPECT_EQ(of(outer).first, 1);
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::CallAbandoned)], 2);
  ASSERT_EQ(handed_over.size(), 3U);
  EXPECT_FALSE(handed_over[0].is_whole);
  EXPECT_FALSE(handed_over[1].is_whole);
  EXPECT_TRUE(handed_over[2].is_whole);
}

TEST_F(OpenCalls, one_that_was_left_by_a_jump_makes_room_for_the_next) {
  call_of_mpi([&] {
    if (setjmp(back) == 0) call_within([] { longjmp(back, 1); });
    for (int i = 0; i < 3; ++i) call_within([] { spin(); });
  });
  expect_all_time_is_accounted_for(1);
  EXPECT_EQ(of(inner).first, 4);
  EXPECT_EQ(of(outer).first, 1);
}

TEST_F(OpenCalls, all_that_were_left_by_a_jump_are_counted_at_the_next_call) {
  if (setjmp(back) == 0) call_of_mpi([&] { call_within([] { longjmp(back, 1); }); });
  call_of_mpi([] { spin(); });
  expect_all_time_is_accounted_for(2);
  EXPECT_EQ(of(inner).first, 1);
  EXPECT_EQ(of(outer).first, 2);
  EXPECT_EQ(location->losses[static_cast<std::size_t>(Loss::CallAbandoned)], 2);
}

TEST_F(OpenCalls, consumers_are_asked_for_what_they_want) {
  location->wanted = 0;
  call_of_mpi([&] { call_within([] {}); });
  EXPECT_TRUE(handed_over.empty());
  location->wanted = wish_of(0, Wish::Samples);
  call_of_mpi([] {});
  EXPECT_TRUE(handed_over.empty());
  location->wanted = wish_of(0, Wish::Calls);
  call_of_mpi([] {});
  EXPECT_EQ(handed_over.size(), 1U);
}

}  // namespace
}  // namespace refrain::measurement

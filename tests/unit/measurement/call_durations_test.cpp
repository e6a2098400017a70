// Durations of calls are those of the profile, in bounded memory.

#include "measurement/call_durations.hpp"

#include <gtest/gtest.h>
#include <limits>

#include "measurement/lifecycle.hpp"
#include "measurement/locations.hpp"
#include "platform/clock.hpp"
#include "unwind/walker.hpp"

namespace refrain::measurement {
namespace {

using waits::Column;
using waits::DurationTable;

constexpr RegionId receive{1}, file_read{2};
constexpr bool waited_in[] = {false, true, false};  // MPI_Comm_rank, MPI_Recv, MPI_File_read

class CallDurations : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    platform::start_clock();
    ASSERT_TRUE(unwind::start_rule_cache());
    mpi_regions_waited_in = waited_in;
    start_durations();
  }
  void SetUp() override {
    location = make_detached_location({.memory = std::size_t{4} << 20, .callpath_depth = 64});
    ASSERT_TRUE(location && enter_location(*location));
  }
  void TearDown() override {
    set_own_location(nullptr);
    free_detached_location(location);
  }

  [[gnu::noinline]] static void call(std::int64_t bytes) {
    measured(
        receive, [] { return 0; }, [&](MpiCall& done, int) { done.received(1, bytes); });
  }
  waits::Durations all() const {
    waits::Durations sum;
    for (const DurationTable::Entry& entry : location->durations.view())
      if (entry.node != 0) sum.add(entry.durations);
    return sum;
  }
  std::size_t entries() const {
    std::size_t count = 0;
    for (const DurationTable::Entry& entry : location->durations.view()) count += entry.node != 0;
    return count;
  }
  std::int64_t lost() const { return location->losses[static_cast<std::size_t>(Loss::DurationsLost)]; }

  Location* location = nullptr;
};

TEST_F(CallDurations, are_the_time_of_the_profile) {
  for (int i = 0; i < 1000; ++i) call(8);
  EXPECT_EQ(1u, entries());
  EXPECT_EQ(1000, all()[Column::Calls]);
  EXPECT_EQ(location->unit.mpi, all()[Column::Time]);
}

TEST_F(CallDurations, sizes_are_told_apart) {
  for (int i = 0; i < 100; ++i)
    for (const std::int64_t bytes : {8, 15, 1000, 1 << 20}) call(bytes);
  EXPECT_EQ(3u, entries());
  EXPECT_EQ(400, all()[Column::Calls]);
}

TEST_F(CallDurations, of_a_call_that_completes_others_are_those_of_all_their_bytes) {
  BegunAt begun{};
  measured(
      file_read, [] { return 0; }, [&](MpiCall& posted, int) { begun = posted.here(); });
  measured(
      receive, [] { return 0; },
      [&](MpiCall& done, int) {
        done.completed_receive(begun, 600);
        done.completed_io(begun, MetricId::BytesRead, 500);
        done.completed_send(100);
        done.received(1, 10);
      });
  ASSERT_EQ(1u, entries());
  for (const DurationTable::Entry& entry : location->durations.view()) {
    if (entry.node == 0) continue;
    EXPECT_EQ(11u, entry.bin.size()) << "1210 bytes";
    const std::int64_t* own = location->tree.values(NodeId{entry.node});
    EXPECT_EQ(1100, own[column_of(MetricId::BytesCompleted)]);
    EXPECT_EQ(1, own[column_of(MetricId::MessagesCompleted)]);
    EXPECT_EQ(10, own[column_of(MetricId::BytesReceived)]);
  }
  const std::int64_t* there = location->tree.values(begun.node);
  EXPECT_EQ(600, there[column_of(MetricId::BytesReceived)]);
  EXPECT_EQ(500, there[column_of(MetricId::BytesRead)]);
  EXPECT_EQ(0, there[column_of(MetricId::BytesCompleted)]);
}

TEST_F(CallDurations, are_not_noted_of_functions_that_nobody_waits_in) {
  measured(
      RegionId{0}, [] { return 0; }, [](MpiCall&, int) {});
  EXPECT_EQ(0u, entries());
  EXPECT_EQ(0, lost());
}

TEST_F(CallDurations, do_not_have_the_time_of_a_stop) {
  call(8);
  location->call.begin = location->call.charged_until = 0;
  location->call.region = receive;
  const auto node = location->call.node;
  resume_open_call(*location, 1000);
  note_duration(*location, 2000, {});
  EXPECT_EQ(1, all()[Column::Calls]);
  location->call.node = node;
}

TEST_F(CallDurations, do_not_have_a_call_that_ends_in_a_stop) {
  call(8);
  location->call.begin = 1000;
  location->call.charged_until = std::numeric_limits<platform::Ticks>::max();
  location->stopped = true;
  note_duration(*location, 2000, {});
  EXPECT_EQ(1, all()[Column::Calls]);
  location->stopped = false;
}

TEST_F(CallDurations, of_a_call_in_progress_are_of_the_class_that_most_have) {
  for (const std::int64_t bytes : {1000, 1000, 8, 1000, 8}) call(bytes);
  location->call.begin = location->call.charged_until = 1000;
  const auto open = duration_of_open_call(*location, 5000);
  ASSERT_TRUE(open);
  EXPECT_EQ(10u, open->bin.size());
  EXPECT_EQ(4000, open->durations[Column::Time]);
  location->call.region = RegionId{0};
  EXPECT_FALSE(duration_of_open_call(*location, 5000));
}

TEST_F(CallDurations, take_a_mebibyte_at_most_and_the_rest_is_counted) {
  constexpr std::uint32_t nodes = 20'000;
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t node = 1; node <= nodes; ++node) {
      location->call.node = NodeId{node};
      location->call.region = receive;
      location->call.begin = location->call.charged_until = location->call.taken_out = 0;
      note_duration(*location, 10, {});
    }
  EXPECT_EQ(max_durations_memory, DurationTable::bytes(location->durations.bits()));
  EXPECT_EQ(2 * nodes, all()[Column::Calls] + lost());
  EXPECT_EQ(2 * entries(), static_cast<std::size_t>(all()[Column::Calls]));
}

TEST_F(CallDurations, memory_of_locations_that_are_gone_is_there_for_others) {
  for (int i = 0; i < 100; ++i) {
    Location* other = make_detached_location({.memory = std::size_t{4} << 20, .callpath_depth = 64});
    ASSERT_TRUE(other);
    other->call.region = receive;
    for (std::uint32_t node = 1; node <= 1000; ++node) {
      other->call.node = NodeId{node};
      note_duration(*other, 10, {});
    }
    EXPECT_EQ(0, other->losses[static_cast<std::size_t>(Loss::DurationsLost)]);
    free_detached_location(other);
  }
}

}  // namespace
}  // namespace refrain::measurement

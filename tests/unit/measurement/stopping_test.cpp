// A measurement that is stopped and resumed while threads make calls: every tick of wall time is in a unit or in the
// stopped time, and visits, calls and messages agree, whatever a thread was doing at either moment.
#include "measurement/stopping.hpp"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "measurement/entrance.hpp"
#include "measurement/follower.hpp"
#include "measurement/locations.hpp"
#include "measurement/mpi_call.hpp"

namespace refrain::measurement {
namespace {

constexpr LocationSettings settings{16U << 20, 64, unwind::Backend::Incremental};
constexpr std::size_t visits = column_of(MetricId::Visits), sent = column_of(MetricId::MessagesSent),
                      time_column = column_of(MetricId::Time);

platform::Registers here() { return {0, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), 0}; }

/// Leaves a scope so that the thread sanitizer sees it.
void leave(Location& l) { leave(l, Inside::User); }

/// What `measured` does (mpi_call.hpp), without a call path.
void call(Location& l, int spins) {
  ASSERT_TRUE(enter(l, here()));
  bool full = false;
  l.call.node = l.stopped ? unrecorded_call : l.tree.child(root_node, NodeKind::Region, 1, full);
  l.call.taken_out = 0;
  l.call.values = row_of(l, l.call);
  l.call.begin = l.call.charged_until = platform::now();
  leave(l, Inside::Call);
  for (int i = 0; i < spins; ++i) std::this_thread::yield();
  l.inside.store(Inside::Measurement);
  ASSERT_TRUE(enter(l, Inside::Call));
  const platform::Ticks time = std::max<platform::Ticks>(0, platform::now() - l.call.charged_until);
  std::int64_t* values = l.call.values ? l.call.values : row_after_cut(l);
  l.unit.mpi += time;
  ++l.unit.mpi_calls;
  ++values[visits];
  values[time_column] += time;
  ++values[sent];
  leave(l);
}

void stop_for(Location& l, int spins) {
  ASSERT_TRUE(enter(l, here()));
  ASSERT_TRUE(stop_measurement());
  leave(l);
  for (int i = 0; i < spins; ++i) std::this_thread::yield();
  ASSERT_TRUE(enter(l, here()));
  ASSERT_TRUE(resume_measurement([](Location& resumed) { EXPECT_FALSE(resumed.stopped); }));
  leave(l);
}

void expect_all_is_accounted_for(const Location& l) {
  UnitTotals units = l.outside;
  units += l.unit;
  EXPECT_FALSE(l.stopped);
  EXPECT_EQ(l.end - l.first_begin, units.wall + l.while_stopped.wall) << "thread " << l.thread;
  EXPECT_GT(l.while_stopped.wall, 0);
  EXPECT_GT(units.wall, 0);
  std::int64_t row[3] = {};
  for (std::uint32_t id = 0; id < l.tree.size(); ++id) {
    const Node& node = l.tree.node(NodeId{id});
    const std::int64_t *own = l.tree.values_of(node), *outside = l.tree.outside_values_of(node);
    if (!own) continue;
    row[0] += own[visits] + outside[visits];
    row[1] += own[sent] + outside[sent];
    row[2] += own[time_column] + outside[time_column];
  }
  EXPECT_EQ(units.mpi_calls, row[0]);
  EXPECT_EQ(units.mpi_calls, row[1]);
  EXPECT_GE(units.mpi, row[2]);  // the rest of calls that began while nothing was recorded has no path
  EXPECT_LE(units.mpi, units.wall);
}

TEST(Stopping, all_time_and_all_calls_are_accounted_for) {
  platform::start_clock();
  ASSERT_TRUE(unwind::start_rule_cache());
  forget_locations();  // those of other tests
  Location* first = begin_location(settings);
  ASSERT_NE(nullptr, first);
  ASSERT_TRUE(enter_location(*first));
  constexpr int threads = 4;
  std::atomic<int> begun{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i)
    workers.emplace_back([&, i] {
      Location* l = begin_location(settings);
      ASSERT_NE(nullptr, l);
      ASSERT_TRUE(enter_location(*l));
      for (int k = 0; !done.load(); ++k) {
        if (k == 3) ++begun;
        call(*l, i * k % 5);
      }
      end_location(*l);
    });
  while (begun.load() < threads) std::this_thread::yield();
  for (int i = 0; i < 40; ++i) {
    call(*first, 1);
    stop_for(*first, 20);
    if (i % 3 == 0) call(*first, 1);
  }
  done = true;
  for (std::thread& worker : workers) worker.join();
  end_location(*first);
  for (Location* l = first_location(); l; l = l->next) expect_all_is_accounted_for(*l);
  forget_locations();
}

TEST(Stopping, a_call_that_begins_stopped_is_not_counted) {
  platform::start_clock();
  ASSERT_TRUE(unwind::start_rule_cache());
  forget_locations();
  Location* first = begin_location(settings);
  ASSERT_NE(nullptr, first);
  ASSERT_TRUE(enter_location(*first));
  ASSERT_TRUE(enter(*first, here()));
  ASSERT_TRUE(stop_measurement());
  ASSERT_TRUE(stop_measurement());  // stopped already
  leave(*first);
  call(*first, 1);
  EXPECT_EQ(1, first->while_stopped.row[visits]);
  ASSERT_TRUE(enter(*first, here()));
  ASSERT_TRUE(resume_measurement([](Location&) {}));
  leave(*first);
  EXPECT_EQ(0, first->unit.mpi_calls);
  call(*first, 1);
  EXPECT_EQ(1, first->unit.mpi_calls);
  end_location(*first);
  expect_all_is_accounted_for(*first);
  forget_locations();
}

}  // namespace
}  // namespace refrain::measurement

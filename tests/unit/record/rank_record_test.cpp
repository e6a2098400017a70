// What a snapshot says about a follower stays as it was when it was copied, whatever the threads do while it is
// written.

#include "record/rank_record.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "measurement/boundaries.hpp"
#include "measurement/entrance.hpp"
#include "measurement/follower.hpp"
#include "measurement/followers.hpp"
#include "measurement/locations.hpp"
#include "measurement/regions.hpp"
#include "unwind/walker.hpp"

namespace refrain::record {
namespace {

using measurement::Inside;
using measurement::Location;

constexpr measurement::RegionId name{measurement::first_user_region};
constexpr measurement::LocationSettings settings{16U << 20, 64, unwind::Backend::Incremental};
constexpr std::size_t wall = measurement::logged_index(measurement::MetricId::Wall);

/// Two threads in turn: each waits for a step that the other has reached.
class Turns {
 public:
  void reach(int step) { step_.store(step); }
  void wait_for(int step) const {
    while (step_.load() < step) std::this_thread::yield();
  }

 private:
  std::atomic<int> step_{0};
};

bool build(RankRecordBuilder& builder) {
  const RankRecord frame{};
  const auto none = [](const Location&) { return std::int64_t{0}; };
  return builder.build(frame, {}, {false, none}, RankRecordBuilder::Threads::Going);
}

struct Seen {
  std::vector<std::byte> log;
  std::int64_t minimum;
  bool operator==(const Seen&) const = default;
};

/// What the record says about the loop of the second thread.
Seen seen(const RankRecordBuilder& builder) {
  const auto locations = builder.record().locations;
  if (locations.size() != 2 || locations[1].loops.size() != 1 || locations[1].loops[0].clusters.empty()) return {};
  const LoopRecord& loop = locations[1].loops[0];
  return {{loop.log_tail.begin(), loop.log_tail.end()}, loop.clusters[0].minimum[wall]};
}

TEST(RankRecord, keeps_what_it_says_about_a_follower_that_begins_a_loop_of_its_own) {
  platform::start_clock();
  ASSERT_TRUE(unwind::start_rule_cache());
  Location* const first = measurement::begin_location(settings);
  ASSERT_TRUE(first && measurement::enter_location(*first));
  Turns turns;
  RankRecordBuilder by_first, by_follower;
  std::thread thread([&] {
    Location* const l = measurement::begin_location(settings);
    ASSERT_TRUE(l && measurement::enter_location(*l) && measurement::is_follower(*l));
    turns.reach(1);
    turns.wait_for(2);
    EXPECT_TRUE(build(by_follower));
    turns.reach(3);
    turns.wait_for(4);
    ASSERT_TRUE(measurement::enter(*l, {0, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), 0}));
    measurement::stop_following(*l);
    measurement::ClusteredLoop* const own = measurement::loop_of(l->iterations, name);
    EXPECT_EQ(2U, own->iterations) << "it has the name of the one that the thread has followed";
    EXPECT_TRUE(measurement::log_passed(*l, *own, own->iterations, measurement::root_node, -1, 0, 0));
    (void)own->log.closed();
    measurement::leave(*l, Inside::User);
    measurement::end_location(*l);
  });
  turns.wait_for(1);
  for (std::uint64_t i = 0; i < 2; ++i) {
    measurement::end_span(platform::now(), measurement::outside_of_iterations);
    measurement::end_span(platform::now(), measurement::iteration_id(name, i));
  }
  EXPECT_TRUE(build(by_first));
  turns.reach(2);
  turns.wait_for(3);
  const Seen before = seen(by_first);
  EXPECT_FALSE(before.log.empty());
  EXPECT_GE(before.minimum, 0);
  EXPECT_EQ(before, seen(by_follower));
  turns.reach(4);
  thread.join();
  EXPECT_TRUE(before == seen(by_first)) << "the first thread has written the snapshot";
  EXPECT_TRUE(before == seen(by_follower)) << "the follower has written it";
  measurement::end_location(*first);
}

}  // namespace
}  // namespace refrain::record

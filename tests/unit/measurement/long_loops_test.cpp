// A loop of many iterations takes bounded room, and what is said of all of its iterations stays exact.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

#include "format/kept_iterations.hpp"
#include "measurement/iterations.hpp"
#include "offline/experiment/iteration_log_reader.hpp"
#include "platform/pages.hpp"

namespace refrain::measurement {
namespace {

constexpr std::uint64_t whole = 128;

class LongLoop : public testing::Test {
 protected:
  void SetUp() override {
    logged_bytes.store(0);
    iteration_settings.log_limit = 512 * whole;
    iteration_settings.clusters = 4;
    location_ = platform::make_on_pages<Location>();
    ASSERT_NE(nullptr, location_);
    loop_ = loop_of(iterations_, RegionId{4096});
    ASSERT_NE(nullptr, loop_);
  }
  void TearDown() override { iteration_settings = {}; }

  /// An iteration with calls of one MPI function.
  void iterate(platform::Ticks wall, std::int64_t calls) {
    std::int64_t values[columns_of(NodeKind::Region)] = {};
    values[column_of(MetricId::Visits)] = calls;
    const clustering::TouchedPath path{clustering::PathId{1}, shape_of(NodeKind::Region, values), values};
    UnitTotals unit{};
    unit.wall = wall;
    unit.mpi_calls = calls;
    IterationRow row;
    const auto overall = fill_row(unit, nullptr, {&path, 1}, row);
    const auto label = cluster_iteration(*location_, *loop_, loop_->iterations, {overall, {&path, 1}});
    ASSERT_NE(clustering::no_label, label);
    log_iteration(*location_, *loop_, label, overall, {&path, 1});
    walls_.push_back(wall);
  }

  /// Calls f(first iteration, level, item) for the items of the log.
  template <class F>
  void for_each_item(F&& f) {
    std::array<format::Precision, logged_count> columns;
    for (std::size_t i = 0; i < logged_count; ++i) columns[i] = format::row_of(format::logged_metrics[i]).log;
    for (std::span<const std::byte> rest : {loop_->closed.view(), loop_->log.closed()})
      while (!rest.empty()) {
        std::uint32_t size = 0;
        std::memcpy(&size, rest.data() + 4, sizeof size);
        experiment::IterationLogReader block;
        ASSERT_TRUE(block.open(rest.first(size), columns));
        std::uint64_t at = block.first();
        for (experiment::LoggedItem item; block.next(item); at += item.count) f(at, block.level(), item);
        rest = rest.subspan(size);
      }
  }

  Location* location_ = nullptr;
  Iterations* iterations_ = nullptr;
  ClusteredLoop* loop_ = nullptr;
  std::vector<platform::Ticks> walls_;
};

constexpr std::size_t wall_index = format::logged_index(MetricId::Wall);

TEST_F(LongLoop, has_the_sums_of_all_iterations_in_a_log_that_grows_with_their_logarithm) {
  std::mt19937_64 random(1);
  std::size_t bytes = 0;
  for (int doubling = 0; doubling < 7; ++doubling) {
    while (walls_.size() < whole << doubling) iterate(static_cast<std::int64_t>(random() % 1'000'000), 1);
    bytes = loop_->closed.size() + loop_->log.bytes();
  }
  EXPECT_LT(bytes, 32 * whole * (1 + 7));
  EXPECT_EQ(whole, loop_->log.thinned_from());
  std::int64_t sum = 0, truth = 0;
  for_each_item([&](std::uint64_t at, unsigned level, const experiment::LoggedItem& item) {
    ASSERT_FALSE(item.run);
    ASSERT_EQ(format::log_level_at(at, whole), level);
    const std::uint64_t kept = format::KeptIterations{level}.in_block(at >> level);
    ASSERT_EQ(walls_[kept], item.row[wall_index]) << at;
    sum += item.row[wall_index] + (level > 0 ? item.others[wall_index] : 0);
  });
  for (const platform::Ticks wall : walls_) truth += wall;
  EXPECT_EQ(truth, sum);
}

TEST_F(LongLoop, takes_no_more_than_the_limit_however_many_loops_there_are) {
  constexpr std::uint64_t limit = 256 << 10, whole_of_each = limit / 512, iterations = 20 * whole_of_each;
  iteration_settings.log_limit = limit;
  std::mt19937_64 random(5);
  std::vector<ClusteredLoop*> loops;
  for (int i = 1; i <= 15; ++i) {
    loops.push_back(loop_of(iterations_, RegionId{static_cast<std::uint16_t>(4096 + i)}));
    ASSERT_NE(nullptr, loops.back());
  }
  for (std::uint64_t i = 0; i < iterations; ++i)
    for (ClusteredLoop* loop : loops) {
      loop_ = loop;
      iterate(static_cast<std::int64_t>(random() % 1'000'000'000'000), 1 + static_cast<std::int64_t>(random() % 1000));
    }
  // A record takes a byte for its label, 6 for the difference of wall times in nearly all cases and 2 for that of the
  // calls in 88 of 100: 8.8 on average, and more for new labels. Each loop would close blocks with 512 of them,
  // then with two for each of 256 groups in each of four doublings: 15 x 2560 x 8.8 bytes = 338 KB.
  std::size_t bytes = 0;
  for (const ClusteredLoop* loop : loops) {
    bytes += loop->closed.size();
    EXPECT_EQ(whole_of_each, loop->log.thinned_from()) << "the first iterations are there, one by one";
    EXPECT_GT(loop->log.level(), format::log_level_at(iterations - 1, whole_of_each));
  }
  EXPECT_EQ(bytes, logged_bytes.load());
  EXPECT_GT(bytes, limit / 2) << "logs are thinned no further before";
  EXPECT_LT(bytes, limit);
}

TEST_F(LongLoop, keeps_the_slowest_iterations) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 5000; ++i) iterate(static_cast<std::int64_t>(random() % 2000), 1);
  std::vector<std::uint64_t> order(walls_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::uint64_t i) { return walls_[i]; });
  ASSERT_EQ(format::max_slowest, loop_->slowest.count);
  for (std::size_t i = 0; i < format::max_slowest; ++i) {
    EXPECT_EQ(order[i], loop_->slowest.one[i].number) << i;
    EXPECT_EQ(walls_[order[i]], loop_->slowest.one[i].wall) << i;
  }
}

TEST_F(LongLoop, has_passed_iterations_among_the_slowest) {
  constexpr std::uint64_t one = 40, another = 2 * whole + 5;  // kept by itself, and of a group
  for (std::uint64_t i = 0; i < 3 * whole; ++i) {
    const auto wall = static_cast<platform::Ticks>(5000 + i);
    if (i == one || i == another) {
      ASSERT_TRUE(log_passed(*location_, *loop_, i, root_node, wall, 0, 0));
    } else {
      iterate(1000, 1);
    }
  }
  EXPECT_EQ(another, loop_->slowest.one[0].number);
  EXPECT_EQ(one, loop_->slowest.one[1].number);
  EXPECT_EQ(5000 + static_cast<platform::Ticks>(one), loop_->slowest.one[1].wall);
}

TEST_F(LongLoop, leaves_out_merges_that_the_log_does_not_need) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 6000; ++i)
    iterate(static_cast<std::int64_t>(random() % 1'000'000), 1 + static_cast<std::int64_t>(random() % 50));
  std::map<std::uint32_t, std::uint32_t> became;
  for (const clustering::Merge& merge : loop_->merges)
    became[static_cast<std::uint32_t>(merge.from)] = static_cast<std::uint32_t>(merge.to);
  std::vector<std::uint32_t> live;
  for (std::uint32_t k = 0; k < loop_->clusterer.cluster_count(); ++k)
    live.push_back(static_cast<std::uint32_t>(loop_->clusterer.cluster(k).label));
  std::size_t records = 0;
  for_each_item([&](std::uint64_t at, unsigned, const experiment::LoggedItem& item) {
    ++records;
    if (item.label == clustering::no_label) return;  // of the group in progress
    auto label = static_cast<std::uint32_t>(item.label);
    while (became.contains(label)) label = became[label];
    EXPECT_TRUE(std::ranges::find(live, label) != live.end()) << "iteration " << at << " has no cluster";
  });
  EXPECT_LT(loop_->merges.size(), 4 * records) << "of 6000 iterations";
}

TEST_F(LongLoop, has_the_times_of_what_a_thread_has_passed) {
  std::mt19937_64 random(4);
  std::int64_t truth = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto wall = static_cast<std::int64_t>(random() % 1'000'000);
    truth += wall;
    if (i % 10 == 0) iterate(wall, 1);
    else ASSERT_TRUE(log_passed(*location_, *loop_, i, i % 3 ? root_node : NodeId{1}, wall, wall / 2, wall / 3));
  }
  EXPECT_EQ(2700U, loop_->passed.count);
  EXPECT_EQ(loop_->passed.totals.wall, loop_->passed.sums[0].wall + loop_->passed.sums[1].wall);
  EXPECT_EQ(loop_->passed.totals.mpi, loop_->passed.sums[1].wall);
  EXPECT_EQ(loop_->passed.totals.mpi, loop_->passed.by_node[1].value);
  std::int64_t clustered = loop_->passed.totals.wall;
  for (std::uint32_t k = 0; k < loop_->clusterer.cluster_count(); ++k)
    clustered += totals_of(loop_->clusterer.cluster(k).sum).wall;
  EXPECT_EQ(truth, clustered);
  std::uint64_t covered = 0;
  for_each_item([&](std::uint64_t at, unsigned level, const experiment::LoggedItem& item) {
    EXPECT_EQ(covered, at);
    covered += item.count;
    if (level > 0) EXPECT_FALSE(item.run) << "a group has the time of all of its iterations";
  });
  EXPECT_GE(covered, 3000U);
}

}  // namespace
}  // namespace refrain::measurement

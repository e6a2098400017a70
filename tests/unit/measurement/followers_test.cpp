// Followers: every event must come out in the iteration in which it was recorded, and no tick of wall time may be lost,
// whatever the threads do meanwhile.
#include "measurement/followers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "measurement/entrance.hpp"
#include "measurement/follower.hpp"
#include "measurement/iterations.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/locations.hpp"
#include "offline/experiment/iteration_log_reader.hpp"

namespace refrain::measurement {
namespace {

constexpr RegionId loops[] = {RegionId{4096}, RegionId{4097}};
constexpr LocationSettings settings{64U << 20, 64, unwind::Backend::Incremental};
/// An event is a call of one of these, by the number of the iteration.
constexpr std::uint64_t regions = 3;

using Row = std::array<std::int64_t, logged_count>;
std::int64_t value(const Row& row, MetricId metric) { return row[format::logged_index(metric)]; }

/// What a thread has done by its own account.
struct Account {
  std::map<std::uint64_t, std::int64_t> events;  ///< by span
  std::int64_t total = 0;
  platform::Ticks life = 0;
};

/// Two threads in turn: each waits for a step that the other has reached.
class Steps {
 public:
  void reach(int step) { step_.store(step); }
  void wait_for(int step) const {
    while (step_.load() < step) std::this_thread::yield();
  }

 private:
  std::atomic<int> step_{0};
};

class Followers : public testing::Test {
 protected:
  void SetUp() override {
    platform::start_clock();
    ASSERT_TRUE(unwind::start_rule_cache());
    forget_locations();  // those of other tests
    leader_ = begin_location(settings);
    ASSERT_NE(nullptr, leader_);
    leader_->thread = 0;
    leader_->follower = nullptr;
    ASSERT_TRUE(enter_location(*leader_));
    leader_->inside.store(Inside::Measurement);
    for (const RegionId region : loops) ASSERT_TRUE(loop_of(leader_->iterations, region));
  }

  /// The next iteration of a loop, or time outside, is over.
  void end(int loop) { end(loop, platform::now()); }
  void end(int loop, platform::Ticks now) {
    const platform::Ticks before = last_end_;
    last_end_ = now;
    if (loop < 0) return end_span(now, outside_of_iterations);
    ClusteredLoop& of = *leader_->iterations->loops[loop];
    end_span(now, iteration_id(of.region, of.iterations));
    spans_[static_cast<std::size_t>(loop)].push_back(published_epoch.load() - 1);
    walls_[static_cast<std::size_t>(loop)].push_back(now - before);
    ++of.iterations;
  }
  void iterate(int loop) {
    end(-1);
    end(loop);
    serve_followers_if_due(*leader_);
  }

  /// Spans are kept for a while only, and iterations here are a thousand times shorter than real ones: a thread that is
  /// suspended on a busy machine would lose some.
  void wait_for_followers() {
    const auto is_behind = [](Location& l) {
      constexpr std::uint64_t long_ago = kept_spans / 4;
      return is_follower(l) &&
             (published_epoch.load() - l.follower->epoch.load() >= long_ago || l.follower->busy.test());
    };
    const auto any_behind = [&] {
      for (Location* l = first_location(); l; l = l->next)
        if (is_behind(*l)) return true;
      return false;
    };
    for (serve_followers(*leader_); any_behind(); serve_followers(*leader_))
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

  static void bring_up_to_date() {
    ASSERT_TRUE(pause_others());
    bring_followers_up_to_date();
    resume_others();
  }

  /// On a follower: `count` events in the iteration in progress.
  static void record(Location& l, Account& account, int count) {
    const std::uint64_t before = published_epoch.load();
    ASSERT_TRUE(enter(l, {0, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), 0}));
    const std::uint64_t span = l.follower->epoch.load();
    EXPECT_TRUE(before <= span || l.follower->stopped.load()) << "an event in an iteration that was over";
    bool full = false;
    const NodeId node = l.tree.child(root_node, NodeKind::Region, span / 2 % regions, full);
    l.tree.values(node)[column_of(MetricId::Visits)] += count;
    l.tree.values(node)[column_of(MetricId::BytesSent)] += 10 * count;
    l.unit.mpi_calls += count;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    leave(l, Inside::User);
    account.events[span] += count;
    account.total += count;
  }

  /// On a follower: a sample of user code in the iteration in progress.
  static void sample(Location& l, std::int64_t weight) {
    ASSERT_TRUE(enter(l, {0, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), 0}));
    bool full = false;
    const NodeId node = l.tree.child(root_node, NodeKind::Function, 1, full);
    ++l.tree.values(node)[column_of(MetricId::Samples)];
    l.tree.values(node)[column_of(MetricId::Weight)] += weight;
    ++l.unit.ticks_user;
    l.unit.weight_user_ns += weight;
    l.unit.weight_user_squared += static_cast<double>(weight) * static_cast<double>(weight);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    leave(l, Inside::User);
  }

  /// Rows of a loop, in order; those that a reader fills in from the log of the first thread have their wall time. Runs
  /// of more than a million iterations without a thread are left out.
  std::vector<Row> rows(ClusteredLoop& loop) {
    const auto& walls = walls_[loop.region == loops[0] ? 0 : 1];
    std::vector<Row> all;
    format::Precision columns[logged_count];
    for (std::size_t i = 0; i < logged_count; ++i) columns[i] = format::row_of(format::logged_metrics[i]).log;
    const auto read = [&](std::span<const std::byte> rest) {
      while (!rest.empty()) {
        std::uint32_t size = 0;
        std::memcpy(&size, rest.data() + 4, sizeof size);
        experiment::IterationLogReader block;
        ASSERT_TRUE(block.open(rest.first(size), columns));
        for (experiment::LoggedItem item; block.next(item);) {
          for (std::uint64_t i = 0; i < item.count && item.count < 1'000'000; ++i) {
            Row& row = all.emplace_back();
            if (!item.run) std::copy_n(item.row, logged_count, row.begin());
            else if (item.run != format::Run::Absent)
              row[format::logged_index(MetricId::Wall)] = walls.at(all.size() - 1);
          }
        }
        ASSERT_FALSE(block.damaged());
        rest = rest.subspan(size);
      }
    };
    read(loop.closed.view());
    read(loop.log.closed());
    return all;
  }
  /// Records that the log has.
  static std::size_t records(ClusteredLoop& loop) {
    std::size_t count = 0;
    format::Precision columns[logged_count];
    for (std::size_t i = 0; i < logged_count; ++i) columns[i] = format::row_of(format::logged_metrics[i]).log;
    for (std::span<const std::byte> rest : {loop.closed.view(), loop.log.closed()})
      while (!rest.empty()) {
        std::uint32_t size = 0;
        std::memcpy(&size, rest.data() + 4, sizeof size);
        experiment::IterationLogReader block;
        EXPECT_TRUE(block.open(rest.first(size), columns));
        for (experiment::LoggedItem item; block.next(item);) count += !item.run;
        rest = rest.subspan(size);
      }
    return count;
  }

  /// Compares what was made of a location with the account of its thread.
  void check(Location& l, const Account& account, bool lossless = true) {
    std::int64_t calls = l.outside.mpi_calls + l.unit.mpi_calls, wall = l.outside.wall + l.unit.wall;
    std::int64_t visits = 0, bytes = 0;
    const auto add = [&](const std::int64_t* values) {
      if (!values) return;
      visits += values[column_of(MetricId::Visits)];
      bytes += values[column_of(MetricId::BytesSent)];
    };
    for (std::uint32_t id = 0; id < l.tree.size(); ++id) {
      const Node& node = l.tree.node(NodeId{id});
      if (node.kind != NodeKind::Region) continue;
      add(l.tree.values_of(node));
      add(l.tree.outside_values_of(node));
    }
    Iterations* iterations = l.iterations;
    for (std::uint32_t i = 0; iterations && i < iterations->count; ++i) {
      ClusteredLoop& loop = *iterations->loops[i];
      for (std::uint32_t k = 0; k < loop.clusterer.cluster_count(); ++k) {
        const UnitTotals unit = totals_of(loop.clusterer.cluster(k).sum);
        calls += unit.mpi_calls;
        wall += unit.wall;
        std::uint32_t paths = 0;
        (void)loop.clusterer.for_each_path(k, [&](const clustering::PathRow& path) {
          if (path.columns == columns_of(NodeKind::Region)) add(path.sum);
          ++paths;
          return true;
        });
        EXPECT_LE(paths, 1U) << "a cluster of iterations with other calls";
      }
      wall += loop.passed.totals.wall;
      if (!lossless) continue;
      const std::size_t of = loop.region == loops[0] ? 0 : 1;
      const auto logged = rows(loop);
      ASSERT_EQ(spans_[of].size(), loop.iterations);
      ASSERT_EQ(spans_[of].size(), logged.size());
      std::int64_t logged_wall = 0;
      for (std::size_t n = 0; n < logged.size(); ++n) {
        const auto at = account.events.find(spans_[of][n]);
        ASSERT_EQ(at == account.events.end() ? 0 : at->second, value(logged[n], MetricId::Visits)) << "iteration " << n;
        const std::int64_t row_wall = value(logged[n], MetricId::Wall);
        ASSERT_TRUE(0 <= row_wall && row_wall <= walls_[of][n]) << row_wall << " of " << walls_[of][n];
        logged_wall += row_wall;
      }
      std::int64_t clustered_wall = loop.passed.totals.wall;
      for (std::uint32_t k = 0; k < loop.clusterer.cluster_count(); ++k)
        clustered_wall += totals_of(loop.clusterer.cluster(k).sum).wall;
      EXPECT_EQ(logged_wall, clustered_wall);
    }
    EXPECT_EQ(account.total, calls);
    EXPECT_EQ(account.total, visits);
    EXPECT_EQ(10 * account.total, bytes);
    EXPECT_EQ(account.life, wall);
  }

  Location* leader_ = nullptr;
  platform::Ticks last_end_ = 0;
  std::vector<std::uint64_t> spans_[2];    ///< of the iterations of each loop
  std::vector<platform::Ticks> walls_[2];  ///< the same
};

/// One life of a thread on a location; what it has lived is added to the account.
struct Life {
  Location* location = nullptr;
  explicit Life(Account& of) : account(of) {
    location = begin_location(settings);
    EXPECT_TRUE(location && enter_location(*location));
    begin = location->begin;
  }
  ~Life() {
    end_location(*location);
    account.life += location->end - begin;
  }
  Account& account;
  platform::Ticks begin = 0;
};

TEST_F(Followers, every_event_is_in_its_iteration_while_threads_come_and_go) {
  constexpr int threads = 2, iterations = 30'000;
  std::atomic<bool> over{false};
  std::array<Account, threads> accounts;
  std::array<std::map<Location*, Account>, threads> by_location;
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      auto& lives = by_location[static_cast<std::size_t>(t)];
      std::uint64_t random = static_cast<std::uint64_t>(t) + 1;
      while (!over.load()) {
        Account life_account;
        Location* location = nullptr;
        {
          Life life(life_account);
          location = life.location;
          for (int i = 0; i < 300 && !over.load(); ++i) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            record(*location, life_account, static_cast<int>(random >> 62) + 1);
            if (random >> 40 & 1) std::this_thread::yield();
            if ((random >> 32 & 0xff) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }
        Account& account = lives[location];
        for (const auto& [span, events] : life_account.events) account.events[span] += events;
        account.total += life_account.total;
        account.life += life_account.life;
      }
    });
  for (int i = 0; i < iterations; ++i) {
    iterate(i / 7000 % 2);
    if (i % 16 == 0) std::this_thread::yield();
    if (i % 500 == 0) wait_for_followers();
  }
  over.store(true);
  for (auto& thread : running) thread.join();
  end(-1);
  bring_up_to_date();
  std::map<Location*, Account> all;
  for (const auto& lives : by_location)
    for (const auto& [location, account] : lives) {
      for (const auto& [span, events] : account.events) all[location].events[span] += events;
      all[location].total += account.total;
      all[location].life += account.life;
    }
  EXPECT_LE(all.size(), std::size_t{threads});
  for (const auto& [location, account] : all) {
    const bool lossless = location->losses[static_cast<std::size_t>(Loss::IterationUnclustered)] == 0;
    check(*location, account, lossless);
  }
  EXPECT_EQ(0, leader_->losses[static_cast<std::size_t>(Loss::IterationUnclustered)]);
}

TEST_F(Followers, what_sleeps_for_long_still_has_every_iteration) {
  Account account;
  Steps steps;
  Location* location = nullptr;
  std::thread thread([&] {
    Life life(account);
    location = life.location;
    record(*location, account, 1);
    steps.reach(1);
    steps.wait_for(2);
    record(*location, account, 2);
  });
  steps.wait_for(1);
  for (int i = 0; i < 20'000; ++i) iterate(0);
  end(-1);
  steps.reach(2);
  thread.join();
  end(0);
  end(-1);
  bring_up_to_date();
  EXPECT_EQ(0, location->losses[static_cast<std::size_t>(Loss::IterationUnclustered)]);
  check(*location, account);
  const auto logged = rows(*location->iterations->loops[0]);
  ASSERT_EQ(20'001U, logged.size());
  for (std::size_t n = 0; n < 20'000; ++n) ASSERT_EQ(walls_[0][n], value(logged[n], MetricId::Wall)) << n;
}

TEST_F(Followers, what_sleeps_has_every_iteration_although_another_thread_pauses_it) {
  Account account;
  Steps steps, of_pauser;
  Location* location = nullptr;
  std::thread thread([&] {
    Life life(account);
    location = life.location;
    record(*location, account, 1);
    steps.reach(1);
    steps.wait_for(2);
    record(*location, account, 2);
  });
  steps.wait_for(1);
  serve_followers(*leader_);  // the next time after a quarter of the kept spans
  std::thread pauser([&] {
    EXPECT_TRUE(pause_one(*location));
    of_pauser.reach(1);
    of_pauser.wait_for(2);
    resume_others();
    of_pauser.reach(3);
  });
  of_pauser.wait_for(1);
  // Two spans each: the thread is looked for three times in vain. Before the fourth time its first spans are lost.
  for (std::uint64_t i = 0; i < kept_spans * 3 / 8 + 10; ++i) iterate(0);
  of_pauser.reach(2);
  of_pauser.wait_for(3);
  for (std::uint64_t i = 0; i < kept_spans; ++i) iterate(0);
  end(-1);
  steps.reach(2);
  pauser.join();
  thread.join();
  end(0);
  end(-1);
  bring_up_to_date();
  EXPECT_EQ(0, location->losses[static_cast<std::size_t>(Loss::IterationUnclustered)]);
  EXPECT_EQ(0, leader_->losses[static_cast<std::size_t>(Loss::IterationUnclustered)]);
  check(*location, account);
}

TEST_F(Followers, what_begins_late_pays_nothing_for_the_past) {
  constexpr std::uint64_t past = 1'000'000'000'000;  // a loop that takes hours to go so far one by one
  ClusteredLoop& of_leader = *leader_->iterations->loops[0];
  Account account;
  Location* location = nullptr;
  for (int life = 0; life < 2; ++life) {
    end(-1);
    of_leader.iterations += past;
    std::thread([&] {
      Life of(account);
      location = of.location;
      record(*location, account, 1);
    }).join();
    end(0);  // in which the thread has lived
    for (int i = 0; i < 100; ++i) iterate(0);
    bring_up_to_date();
    of_leader.iterations += past;
    bring_up_to_date();  // as a snapshot does
  }
  const ClusteredLoop& loop = *location->iterations->loops[0];
  EXPECT_EQ(4 * past + 202, loop.iterations);
  EXPECT_EQ(loop.iterations, loop.samples.count());
  EXPECT_LT(loop.closed.size() + loop.log.bytes() + loop.samples.data().size(), 1000U);
  // Of iterations in which the location had a thread.
  EXPECT_EQ(2, account.total);
}

TEST_F(Followers, lives_that_begin_or_end_before_a_boundary_is_published_lie_behind_it) {
  for (const bool begins_before : {false, true})
    for (const bool ends_before : {true, false}) {
      Account account;
      Steps steps;
      end(-1);
      platform::Ticks boundary = platform::now();
      Location* location = nullptr;
      std::thread thread([&] {
        {
          Life life(account);
          location = life.location;
          record(*location, account, 1);
          steps.reach(1);
          steps.wait_for(2);
          if (!ends_before) steps.wait_for(3);
        }
        steps.reach(4);
      });
      steps.wait_for(1);
      if (begins_before) boundary = platform::now();
      steps.reach(2);
      if (ends_before) steps.wait_for(4);
      end(0, boundary);
      for (int i = 0; i < 5; ++i) iterate(0);
      end(-1);
      steps.reach(3);
      thread.join();
      bring_up_to_date();
      check(*location, account);
      const auto logged = rows(*location->iterations->loops[0]);
      const std::size_t n = logged.size() - 6;
      EXPECT_EQ(1, value(logged[n], MetricId::Visits));
      EXPECT_EQ(begins_before, value(logged[n], MetricId::Wall) > 0);
      EXPECT_EQ(ends_before ? 0 : walls_[0].back(), value(logged.back(), MetricId::Wall));
      SetUp();  // a location of its own for the next
      spans_[0].clear();
      walls_[0].clear();
    }
}

TEST_F(Followers, iterations_without_a_record_have_no_row_and_their_part_of_the_weights) {
  Account account;
  Steps steps;
  constexpr int samples = 40, between = 50;
  constexpr std::int64_t weight = 1'000'000;
  Location* location = nullptr;
  std::thread thread([&] {
    Life life(account);
    location = life.location;
    for (int i = 0; i < samples; ++i) {
      steps.reach(2 * i + 1);
      steps.wait_for(2 * i + 2);
      sample(*location, weight);
    }
    steps.reach(2 * samples + 1);
  });
  for (int i = 0; i < samples; ++i) {
    steps.wait_for(2 * i + 1);
    if (i > 0) end(0);
    for (int k = 0; k < between; ++k) iterate(0);
    end(-1);
    steps.reach(2 * i + 2);
  }
  steps.wait_for(2 * samples + 1);
  end(0);
  end(-1);
  thread.join();
  bring_up_to_date();
  check(*location, account);
  ClusteredLoop& loop = *location->iterations->loops[0];
  std::int64_t ticks = 0, weights = loop.passed.totals.weight_user_ns, by_path = 0;
  std::uint64_t members = 0;
  for (std::uint32_t k = 0; k < loop.clusterer.cluster_count(); ++k) {
    const auto cluster = loop.clusterer.cluster(k);
    const UnitTotals totals = totals_of(cluster.sum);
    ticks += totals.ticks_user;
    weights += totals.weight_user_ns;
    members += cluster.members;
    (void)loop.clusterer.for_each_path(k, [&](const clustering::PathRow& row) {
      by_path += row.sum[column_of(MetricId::Weight)];
      return true;
    });
  }
  for (const auto& at : loop.passed.by_node) by_path += at.value;
  EXPECT_EQ(samples, ticks);
  EXPECT_EQ(samples * weight, weights);
  EXPECT_EQ(samples * weight, by_path);
  EXPECT_GT(loop.passed.totals.weight_user_ns, 0);
  // Each sample, and at most what the thread began in and ended in.
  EXPECT_LE(members, samples + 2U);
  EXPECT_EQ(members, records(loop));
  EXPECT_EQ(loop.iterations, members + loop.passed.count);
}

TEST_F(Followers, weights_of_iterations_that_could_not_be_kept_count_outside) {
  Account account;
  Steps steps;
  constexpr std::int64_t weight = 1'000'000'000;
  Location* location = nullptr;
  std::thread thread([&] {
    Life life(account);
    location = life.location;
    record(*location, account, 1);
    steps.reach(1);
    steps.wait_for(2);
    sample(*location, weight);
    steps.reach(3);
    steps.wait_for(4);
    record(*location, account, 1);
  });
  steps.wait_for(1);
  end(-1);
  for (int i = 0; i < 200; ++i) {  // which the thread passes
    end(0);
    end(-1);
  }
  steps.reach(2);
  steps.wait_for(3);
  end(0);
  steps.reach(4);
  thread.join();
  ClusteredLoop& loop = *loop_of(location->iterations, loops[0]);
  loop.iterations = 1000;  // those with lower numbers cannot be logged any more
  bring_up_to_date();
  EXPECT_EQ(0U, loop.passed.count);
  std::int64_t clustered = 0;
  for (std::uint32_t k = 0; k < loop.clusterer.cluster_count(); ++k)
    clustered += totals_of(loop.clusterer.cluster(k).sum).weight_user_ns;
  EXPECT_LT(clustered, weight);
  EXPECT_EQ(weight, clustered + location->outside.weight_user_ns + location->unit.weight_user_ns);
  check(*location, account, false);
}

TEST_F(Followers, iterations_within_one_call_have_no_row_and_all_their_time_is_of_the_call) {
  Account account;
  Steps steps;
  Location* location = nullptr;
  std::thread thread([&] {
    Life life(account);
    location = life.location;
    ASSERT_TRUE(enter(*location, {0, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), 0}));
    bool full = false;
    OpenCall& call = location->call;
    call.node = location->tree.child(root_node, NodeKind::Region, 0, full);
    call.values = location->tree.values(call.node);
    call.begin = call.charged_until = platform::now();
    call.taken_out = 0;
    leave(*location, Inside::Call);
    steps.reach(1);
    steps.wait_for(2);
    ASSERT_TRUE(pass_gate(*location, Inside::Call));
    leave(*location, Inside::User);
  });
  steps.wait_for(1);
  for (int i = 0; i < 100; ++i) {
    iterate(0);
    if (i % 10 == 9) bring_up_to_date();
  }
  ClusteredLoop& loop = *location->iterations->loops[0];
  EXPECT_GE(loop.passed.sums[1].count, 95U);
  EXPECT_EQ(loop.passed.sums[1].wall, loop.passed.totals.mpi);
  EXPECT_EQ(0U, loop.passed.sums[0].count);
  EXPECT_EQ(loop.passed.by_node[static_cast<std::size_t>(location->call.node)].value, loop.passed.totals.mpi);
  EXPECT_LE(records(loop), 5U);
  const auto logged = rows(loop);
  ASSERT_EQ(walls_[0].size(), logged.size());
  for (std::size_t n = 1; n < logged.size(); ++n) ASSERT_EQ(walls_[0][n], value(logged[n], MetricId::Wall)) << n;
  steps.reach(2);
  thread.join();
}

TEST_F(Followers, one_is_held_while_the_others_go_on) {
  std::atomic<bool> over{false};
  std::array<Account, 2> accounts;
  std::array<std::atomic<Location*>, 2> locations{};
  std::array<std::atomic<int>, 2> recorded{};
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < 2; ++t)
    running.emplace_back([&, t] {
      Life life(accounts[t]);
      locations[t].store(life.location);
      while (!over.load()) {
        record(*life.location, accounts[t], 1);
        ++recorded[t];
      }
    });
  for (std::size_t t = 0; t < 2; ++t)
    while (recorded[t].load() == 0) std::this_thread::yield();
  for (std::size_t t = 0; t < 2; ++t) {
    Location &held = *locations[t].load(), &other = *locations[1 - t].load();
    ASSERT_TRUE(pause_one(held));
    EXPECT_TRUE(is_held(held));
    EXPECT_FALSE(is_held(other));
    EXPECT_FALSE(pause_others()) << "one at a time";
    const std::int64_t calls = held.outside.mpi_calls + held.unit.mpi_calls;
    for (const int before = recorded[1 - t].load(); recorded[1 - t].load() < before + 100;) std::this_thread::yield();
    EXPECT_EQ(calls, held.outside.mpi_calls + held.unit.mpi_calls);
    resume_others();
    for (const int before = recorded[t].load(); recorded[t].load() < before + 100;) std::this_thread::yield();
  }
  over.store(true);
  for (auto& thread : running) thread.join();
}

TEST_F(Followers, what_sleeps_is_served_while_another_thread_is_paused) {
  Account account, of_paused;
  Steps steps;
  Location *sleeping = nullptr, *paused = nullptr;
  std::thread sleeper([&] {
    Life life(account);
    sleeping = life.location;
    record(*sleeping, account, 1);
    steps.reach(1);
    steps.wait_for(4);
  });
  steps.wait_for(1);
  std::thread other([&] {
    Life life(of_paused);
    paused = life.location;
    steps.reach(2);
    steps.wait_for(4);
  });
  steps.wait_for(2);
  std::thread writer([&] {
    EXPECT_TRUE(pause_one(*paused));
    steps.reach(3);
    steps.wait_for(4);
    resume_others();
  });
  steps.wait_for(3);
  for (int i = 0; i < 20'000; ++i) iterate(0);
  end(-1);
  steps.reach(4);
  for (std::thread* thread : {&sleeper, &other, &writer}) thread->join();
  end(0);
  end(-1);
  bring_up_to_date();
  EXPECT_EQ(0, sleeping->losses[static_cast<std::size_t>(Loss::IterationUnclustered)]);
  check(*sleeping, account);
  EXPECT_GT(paused->losses[static_cast<std::size_t>(Loss::IterationUnclustered)], 0);
  check(*paused, of_paused, false);
}

TEST_F(Followers, what_is_being_served_is_paused_afterwards) {
  Account account;
  Steps steps;
  Location* location = nullptr;
  std::thread thread([&] {
    Life life(account);
    location = life.location;
    steps.reach(1);
    steps.wait_for(2);
  });
  steps.wait_for(1);
  location->gate.store(Gate::Served);
  EXPECT_FALSE(is_held(*location));
  std::thread server([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    location->gate.store(Gate::Open);
    wake_at_gates();
  });
  while (!pause_one(*location)) std::this_thread::yield();
  server.join();
  EXPECT_EQ(Gate::Paused, location->gate.load());
  EXPECT_TRUE(is_held(*location));
  resume_others();
  EXPECT_EQ(Gate::Open, location->gate.load());
  steps.reach(2);
  thread.join();
}

TEST_F(Followers, iterations_that_nobody_looked_after_count_outside) {
  Account account;
  Steps steps;
  Location* location = nullptr;
  std::thread thread([&] {
    Life life(account);
    location = life.location;
    record(*location, account, 1);
    steps.reach(1);
    steps.wait_for(2);
    record(*location, account, 1);
    steps.reach(3);
    steps.wait_for(4);
    record(*location, account, 1);
  });
  steps.wait_for(1);
  for (int i = 0; i < 5000; ++i) end(i % 2 - 1);  // before the thread notices
  steps.reach(2);
  steps.wait_for(3);
  for (int i = 0; i < 100; ++i) end(i % 2 - 1);
  steps.reach(4);
  thread.join();
  for (int i = 0; i < 5000; ++i) end(i % 2 - 1);  // while what it noticed waits in the queue
  serve_followers(*leader_);
  bring_up_to_date();
  // Twice the unit in progress, and once what was passed before one that waited.
  EXPECT_EQ(2, location->losses[static_cast<std::size_t>(Loss::IterationUnclustered)]);
  EXPECT_EQ(1, leader_->losses[static_cast<std::size_t>(Loss::IterationUnclustered)]);
  check(*location, account, false);
}

/// Ends so many iterations, once, that no earlier span is kept.
bool overwrites_spans = false;
void overwrite_spans(Location&) {
  if (!std::exchange(overwrites_spans, false)) return;
  for (std::uint64_t i = 0; i < kept_spans; ++i) end_span(platform::now(), iteration_id(loops[0], 1'000'000 + i));
}

TEST_F(Followers, spans_that_are_overwritten_while_another_thread_takes_them_count_outside) {
  constexpr std::uint64_t passed = 200;
  Account account;
  Steps steps;
  Location* location = nullptr;
  std::thread thread([&] {
    Life life(account);
    location = life.location;
    for (int i = 0; i < 3; ++i) {
      record(*location, account, 1);
      steps.reach(2 * i + 1);
      steps.wait_for(2 * i + 2);
    }
  });
  steps.wait_for(1);
  end(-1);
  for (std::uint64_t i = 0; i < passed; ++i) {
    end(0);
    end(-1);
  }
  steps.reach(2);
  steps.wait_for(3);
  end(0);  // in which the thread has recorded something
  steps.reach(4);
  steps.wait_for(5);
  ClusteredLoop& loop = *loop_of(location->iterations, loops[0]);
  ASSERT_TRUE(loop.closed.append(std::array<std::byte, 1>{}.data(), 1));  // each iteration asks for it to be written
  iteration_settings.log_memory = 0;
  lifecycle.spill_wanted = overwrite_spans;
  overwrites_spans = true;
  {
    const FollowerLock lock(*location);
    ASSERT_TRUE(lock);
    drain_queue(*location, *leader_);
  }
  lifecycle.spill_wanted = nullptr;
  iteration_settings = {};
  EXPECT_FALSE(overwrites_spans);
  EXPECT_EQ(1U, loop.passed.count);
  EXPECT_EQ(passed + 1, loop.iterations);
  EXPECT_EQ(1, leader_->losses[static_cast<std::size_t>(Loss::IterationUnclustered)]);
  steps.reach(6);
  thread.join();
  bring_up_to_date();
  check(*location, account, false);
}

TEST_F(Followers, a_unit_larger_than_the_queue_counts_outside_and_is_counted_as_lost) {
  Account account;
  Steps steps;
  Location* location = nullptr;
  std::thread thread([&] {
    Life life(account);
    location = life.location;
    steps.reach(1);
    steps.wait_for(2);
    ASSERT_TRUE(enter(*location, {0, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), 0}));
    bool full = false;
    for (std::uint64_t key = 1; key <= 4000; ++key) {
      const NodeId node = location->tree.child(root_node, NodeKind::Region, key, full);
      ++location->tree.values(node)[column_of(MetricId::Visits)];
      location->tree.values(node)[column_of(MetricId::BytesSent)] += 10;
      ++location->unit.mpi_calls;
      ++account.total;
    }
    leave(*location, Inside::User);
    steps.reach(3);
    steps.wait_for(4);
    record(*location, account, 1);
  });
  steps.wait_for(1);
  end(-1);
  steps.reach(2);
  steps.wait_for(3);
  end(0);
  steps.reach(4);
  thread.join();
  iterate(0);
  bring_up_to_date();
  EXPECT_EQ(1, location->losses[static_cast<std::size_t>(Loss::IterationUnclustered)]);
  check(*location, account, false);
}

TEST_F(Followers, a_thread_with_a_loop_of_its_own_follows_no_more_and_loses_nothing) {
  Account account;
  Steps steps;
  Location* location = nullptr;
  std::thread thread([&] {
    Life life(account);
    location = life.location;
    for (int i = 0; i < 5; ++i) {
      steps.reach(2 * i + 1);
      steps.wait_for(2 * i + 2);
      record(*location, account, 1);
    }
    ASSERT_TRUE(enter(*location, {0, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), 0}));
    stop_following(*location);
    leave(*location, Inside::User);
    record(*location, account, 1);
  });
  for (int i = 0; i < 5; ++i) {
    steps.wait_for(2 * i + 1);
    if (i > 0) end(0);
    end(-1);
    steps.reach(2 * i + 2);  // it records in an iteration
  }
  thread.join();
  iterate(0);
  bring_up_to_date();
  EXPECT_EQ(0U, location->iterations->count);
  check(*location, account, false);
  EXPECT_EQ(account.total, location->outside.mpi_calls);
}

/// Whether the thread has blocked the signal.
bool has_blocked(int os_thread_id, int signal) {
  std::ifstream status("/proc/self/task/" + std::to_string(os_thread_id) + "/status");
  for (std::string word; status >> word;)
    if (word == "SigBlk:" && status >> word) return (std::stoull(word, nullptr, 16) >> (signal - 1) & 1) != 0;
  return false;
}

TEST_F(Followers, no_handler_can_leave_the_queue_of_a_thread_that_follows_no_more_locked) {
  Account account;
  Steps steps;
  Location* location = nullptr;
  std::thread thread([&] {
    Life life(account);
    location = life.location;
    steps.reach(1);
    steps.wait_for(2);
    ASSERT_TRUE(enter(*location, {0, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), 0}));
    stop_following(*location);
    leave(*location, Inside::User);
  });
  steps.wait_for(1);
  EXPECT_FALSE(has_blocked(location->os_thread_id, SIGUSR1));
  location->follower->busy.test_and_set();  // by a thread that takes items
  steps.reach(2);
  bool blocked = false;
  for (int i = 0; i < 500 && !blocked; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    blocked = has_blocked(location->os_thread_id, SIGUSR1);
  }
  EXPECT_TRUE(blocked);
  location->follower->busy.clear();
  thread.join();
  bring_up_to_date();
  check(*location, account, false);
}

}  // namespace
}  // namespace refrain::measurement

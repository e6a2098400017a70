// Evidence from events bends the straight line of a clock back to its true course.

#include "offline/trace/clock_correction.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

#include "format/hashing.hpp"

namespace refrain::trace {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::int64_t second = 1'000'000'000, duration = 100 * second;
using Wrong = std::function<double(double true_ns)>;  ///< how far the second clock's straight line is ahead

/// A deterministic number from 0 to 1.
double share(std::int64_t number) {
  return static_cast<double>(format::mixed(static_cast<std::uint64_t>(number)) % 1000) / 1000;
}

struct Job {
  ClockCorrection correction{2, 0, duration};
  Wrong wrong;
  double latency = 5'000;

  std::int64_t second_clock(std::int64_t at) const {
    return at + static_cast<std::int64_t>(std::llround(wrong(static_cast<double>(at))));
  }
  void forth(std::int64_t at) {
    correction.add(0, at, 1, second_clock(at + static_cast<std::int64_t>(latency * (1 + 9 * share(at)))));
  }
  void back(std::int64_t at) {
    correction.add(1, second_clock(at), 0, at + static_cast<std::int64_t>(latency * (1 + 9 * share(at + 1))));
  }
  void exchange(std::int64_t from = 0, std::int64_t to = duration, std::int64_t every = second / 100) {
    for (std::int64_t at = from; at < to; at += every) forth(at), back(at + every / 2);
  }
  /// The largest error of the corrected second clock.
  double error(std::int64_t from = 0, std::int64_t to = duration) const {
    const ClockCurve curve = correction.curve(1);
    double largest = 0;
    for (std::int64_t at = from; at <= to; at += second / 20) {
      const double read = static_cast<double>(second_clock(at));
      largest = std::max(largest, std::abs(read + curve.at(read) - static_cast<double>(at)));
    }
    return largest;
  }
};

TEST(ClockCorrection, an_offset_and_a_drift_are_found) {
  for (const Wrong& wrong : {Wrong([](double) { return 3e6; }), Wrong([](double at) { return -2e6 + 1e-5 * at; })}) {
    Job job{.wrong = wrong};
    job.exchange();
    job.correction.solve();
    EXPECT_LT(job.error(), 3'000);
    EXPECT_LT(job.error(), job.correction.uncertainty(1));
    EXPECT_LT(job.correction.uncertainty(1), 10'000);
    EXPECT_EQ(20'000u, job.correction.bounds());
  }
}

TEST(ClockCorrection, a_bend_in_the_middle_is_found) {
  Job job{.wrong = [](double at) { return 1e-5 * (5e10 - std::abs(at - 5e10)); }};
  job.correction.add_measured(1, 0, 1'000);
  job.correction.add_measured(1, static_cast<double>(duration), 1'000);
  job.exchange();
  job.correction.solve();
  // The clock is up to 500,000 off. Latencies are at least 5,000; the shortest of the 20 in a step is 7,000 on average.
  EXPECT_LT(job.error(), 7'000);
  EXPECT_LT(job.error(), job.correction.uncertainty(1));
}

TEST(ClockCorrection, messages_of_a_busy_machine_move_no_clock) {
  // Both ranks waited for a processor, longer in one direction, and the clock was measured better than that.
  Job job{.wrong = [](double) { return 0.0; }};
  for (std::int64_t at = 0; at < duration; at += second / 5) {
    job.correction.add(0, at, 1, at + 4'000'000 + static_cast<std::int64_t>(6e6 * (1 + 9 * share(at))));
    job.correction.add(1, at, 0, at + 4'000'000 + static_cast<std::int64_t>(1e6 * (1 + 9 * share(at + 1))));
  }
  job.correction.add_measured(1, 0, 4e6);
  job.correction.add_measured(1, static_cast<double>(duration), 4e6);
  job.correction.solve();
  EXPECT_LT(job.error(), 1e6);
  EXPECT_LT(job.correction.uncertainty(1), 8e6);
}

TEST(ClockCorrection, contradicting_bounds_are_violated_least) {
  Job job{.wrong = [](double) { return 0.0; }, .latency = 0};
  for (std::int64_t at = 0; at < duration; at += second / 10) {
    job.correction.add(0, at + 6'000, 1, at);  // the second clock is at least 6 us behind
    job.correction.add(1, at, 0, at + 2'000);  // and at most 2 us
  }
  job.correction.solve();
  EXPECT_NEAR(4'000, job.correction.curve(1).at(5e10), 1);
  EXPECT_NEAR(2'000, job.correction.uncertainty(1), 200);
}

TEST(ClockCorrection, the_side_with_more_messages_does_not_win) {
  Job job{.wrong = [](double) { return 0.0; }, .latency = 0};
  for (std::int64_t at = 0; at < duration; at += second / 100) job.correction.add(0, at + 6'000, 1, at);
  for (std::int64_t at = 0; at < duration; at += second / 5) job.correction.add(1, at, 0, at + 2'000);
  job.correction.solve();
  EXPECT_NEAR(4'000, job.correction.curve(1).at(5e10), 300);
}

TEST(ClockCorrection, one_narrow_corridor_does_not_decide_for_all) {
  // 3 ms ahead, and bent by 20 us; one pair of messages was quick by an error.
  Job job{.wrong = [](double at) { return 3e6 + 2e4 * std::sin(at / 1.6e10); }};
  job.exchange();
  const std::int64_t at = 37 * second;
  job.correction.add(0, at, 1, job.second_clock(at) + 100);
  job.correction.add(1, job.second_clock(at), 0, at + 100);
  job.correction.solve();
  EXPECT_LT(job.error(second, duration - second), 3'000);
}

TEST(ClockCorrection, messages_in_one_direction_move_a_clock_only_as_far_as_they_prove) {
  Job behind{.wrong = [](double) { return -100'000.0; }};
  for (std::int64_t at = 0; at < duration; at += second / 100) behind.forth(at);
  behind.correction.solve();
  EXPECT_LT(behind.error(), 20'000);
  EXPECT_GT(0, behind.correction.uncertainty(1));
  Job ahead{.wrong = [](double) { return 100'000.0; }};
  for (std::int64_t at = 0; at < duration; at += second / 100) ahead.forth(at);
  ahead.correction.solve();
  EXPECT_EQ(0, ahead.correction.curve(1).at(5e10));
}

TEST(ClockCorrection, without_bounds_nothing_is_corrected) {
  ClockCorrection correction(3, 0, duration);
  correction.add(1, 10, 1, 5);
  correction.solve();
  EXPECT_EQ(0u, correction.bounds());
  EXPECT_TRUE(correction.curve(1).empty());
  EXPECT_GT(0, correction.uncertainty(1));
  EXPECT_EQ(0, correction.uncertainty(0));
}

TEST(ClockCorrection, a_gap_is_bridged_and_makes_it_less_certain) {
  Job whole{.wrong = [](double at) { return 1e-6 * at; }}, gap{.wrong = whole.wrong};
  whole.exchange();
  gap.exchange(0, 20 * second);
  gap.exchange(80 * second, duration);
  whole.correction.solve();
  gap.correction.solve();
  EXPECT_LT(gap.error(), 4'000);
  EXPECT_LT(gap.error(), gap.correction.uncertainty(1));
  // It is 30 s away from the last bounds.
  EXPECT_GT(gap.correction.uncertainty(1), whole.correction.uncertainty(1) + 1e-7 * 30e9);
}

TEST(ClockCorrection, clocks_that_never_talk_to_the_first_one_follow_through_others) {
  ClockCorrection correction(3, 0, duration);
  for (std::int64_t at = 0; at < duration; at += second / 50) {
    correction.add(0, at, 1, at + 50'000 + 4'000), correction.add(1, at + 50'000, 0, at + 4'000);
    correction.add(1, at + 50'000, 2, at - 70'000 + 4'000), correction.add(2, at - 70'000, 1, at + 50'000 + 4'000);
  }
  correction.solve();
  EXPECT_NEAR(-50'000, correction.curve(1).at(5e10), 1);
  EXPECT_NEAR(70'000, correction.curve(2).at(5e10), 1);
  EXPECT_NEAR(4'000, correction.uncertainty(1), 100);
  EXPECT_NEAR(8'000, correction.uncertainty(2), 200);
}

TEST(ClockCorrection, time_does_not_run_backwards_whatever_files_say) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  for (const auto& [begin, end] : {std::pair{least, most}, std::pair{most, least},
                                   std::pair{std::int64_t{0}, std::int64_t{0}}, std::pair{std::int64_t{0}, duration}}) {
    ClockCorrection correction(2, begin, end);
    for (const std::int64_t a : {least, std::int64_t{0}, duration / 2, most})
      for (const std::int64_t b : {least, std::int64_t{1}, duration / 3, most})
        correction.add(0, a, 1, b), correction.add(1, a, 0, b);
    correction.solve();
    const ClockCurve curve = correction.curve(1);
    double before = -infinite;
    for (double at = -1e9; at < 2e11; at += 1e8) {
      const double now = at + curve.at(at);
      EXPECT_TRUE(std::isfinite(now));
      EXPECT_GE(now, before);
      before = now;
    }
  }
}

/// Bounds at single points.
std::vector<PathBound> bounds_of(const std::vector<Corridor>& corridor) {
  std::vector<PathBound> bounds;
  for (std::size_t i = 0; i < corridor.size(); ++i) {
    const bool is_last = i + 1 == corridor.size();
    bounds.push_back({is_last ? i - 1 : i, is_last ? 1.0 : 0.0, corridor[i].low, corridor[i].high});
  }
  return bounds;
}

TEST(SmoothestPath, bends_only_where_it_must) {
  std::vector<Corridor> corridor(101, {-10, 10});
  for (const double value : smoothest_path(corridor, bounds_of(corridor), 1)) EXPECT_NEAR(0, value, 1e-3);
  corridor[50] = {-infinite, infinite};
  corridor[20] = {-1, 1000};  // a late message moves nothing
  const std::vector<double> path = smoothest_path(corridor, bounds_of(corridor), 1);
  EXPECT_LT(std::abs(path[10]), 10);
  EXPECT_TRUE(path[20] >= -1 && path[19] <= 5 && path[21] <= 5);
}

TEST(SmoothestPath, what_is_late_in_one_direction_alone_moves_nothing) {
  std::vector<Corridor> corridor(501, {-1e6, 50e6});
  corridor.front() = corridor.back() = {-4e6, 4e6};
  const std::vector<double> path = smoothest_path(corridor, bounds_of(corridor), 1);
  EXPECT_LT(std::ranges::max(path), 0.1e6);
  EXPECT_GT(std::ranges::min(path), -0.1e6);
}

TEST(SmoothestPath, a_bound_between_two_points_holds_there) {
  const std::vector<Corridor> corridor(10, {-infinite, infinite});
  const std::vector<PathBound> bounds = {{0, 0, -1, 1}, {8, 1, -1, 1}, {4, 0.5, 100, infinite}};
  const std::vector<double> path = smoothest_path(corridor, bounds, 10);
  EXPECT_NEAR(100, (path[4] + path[5]) / 2, 2);
  EXPECT_NEAR(path[4], path[5], 1e-3);
  EXPECT_NEAR(1, path[0], 1);
}

}  // namespace
}  // namespace refrain::trace

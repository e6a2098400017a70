// Waiting from durations: by hand.

#include "waits/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace refrain::waits {
namespace {

constexpr double tick_s = 1e-9;

constexpr Comparison by_waiting{.long_by = LongBy::waiting, .has_one_without_waiting = true},
    by_data{.long_by = LongBy::data, .has_one_without_waiting = true};

Durations of_calls(std::initializer_list<std::int64_t> ticks, int times = 1) {
  Durations of;
  for (int i = 0; i < times; ++i)
    for (const std::int64_t one : ticks) of.add_call(one, one);
  return of;
}
Floor floor_of(std::vector<Durations> groups) {
  FloorBuilder builder;
  for (const Durations& of : groups) builder.add(of, tick_s);
  return builder.floor();
}

TEST(Floor, is_the_shortest_and_what_short_calls_take) {
  const Floor of = floor_of({of_calls({1000, 3000, 50'000}), of_calls({2000, 2000})});
  EXPECT_NEAR(1e-6, of.shortest_s, 1e-15);
  EXPECT_NEAR(2e-6, of.usual_s, 1e-15);
  EXPECT_EQ(5, of.number);
}

TEST(Floor, calls_that_have_always_waited_say_nothing) {
  const Durations waiting = of_calls({90'000, 100'000, 110'000}), other = of_calls({1000, 2000, 3000});
  EXPECT_NEAR(2e-6, floor_of({waiting, other}).usual_s, 1e-15);
  EXPECT_NEAR(2e-6, floor_of({other, waiting}).usual_s, 1e-15);
}

TEST(Floor, does_not_depend_on_the_order) {
  std::vector<Durations> groups;
  for (const std::int64_t shortest : {10'000, 4000, 1500, 30'000, 1400})
    groups.push_back(of_calls({shortest, 2 * shortest}));
  const Floor expected = floor_of(groups);
  std::ranges::sort(groups, {}, [](const Durations& of) { return of[Column::Shortest]; });
  EXPECT_EQ(expected.usual_s, floor_of(groups).usual_s);
  std::ranges::reverse(groups);
  EXPECT_EQ(expected.usual_s, floor_of(groups).usual_s);
}

TEST(Estimate, of_long_calls_among_short_ones) {
  const Durations of = of_calls({1000, 1000, 2000, 2000, 100'000, 200'000}, 2);
  const Floor floor = floor_of({of});
  const Estimate found = estimate(Calls(of, tick_s), floor, floor, by_waiting);
  EXPECT_NEAR(2 * (306'000 - 6 * 1500) * tick_s, found.seconds, 1e-13);
  EXPECT_NEAR(2 * (306'000 - 6 * 1000) * tick_s, found.paper_s, 1e-13);
  EXPECT_NEAR(found.paper_s, found.most_s, 1e-13);
  EXPECT_NEAR(2 * (300'000 - 2 * 4000) * tick_s, found.least_s, 1e-13);
}

/// Who only knows that a call was long knows no more than that it may have waited.
TEST(Estimate, of_calls_that_data_makes_long_is_of_the_long_ones_and_may_be_nothing) {
  const Durations of = of_calls({1000, 1000, 2000, 2000, 100'000, 200'000}, 2);
  const Floor floor = floor_of({of});
  const Estimate found = estimate(Calls(of, tick_s), floor, floor, by_data);
  EXPECT_NEAR(2 * (300'000 - 2 * 4000) * tick_s, found.seconds, 1e-13);
  EXPECT_EQ(0, found.least_s);
  EXPECT_NEAR(2 * (306'000 - 6 * 1000) * tick_s, found.most_s, 1e-13);
}

TEST(Estimate, has_the_error_of_anything_within_its_bounds) {
  const Estimate in_the_middle{5, 2, 8, 0}, at_the_end{8, 2, 8, 0};
  EXPECT_NEAR(6 / std::sqrt(12.0), in_the_middle.error_s(), 1e-12);
  EXPECT_NEAR(6 / std::sqrt(3.0), at_the_end.error_s(), 1e-12);
}

TEST(Estimate, nobody_has_waited_where_all_calls_are_alike) {
  const Durations of = of_calls({1000, 1100, 1200, 1300}, 3);
  const Floor floor = floor_of({of});
  const Estimate found = estimate(Calls(of, tick_s), floor, floor, by_waiting);
  EXPECT_NEAR(0, found.seconds, 1e-15);
  EXPECT_NEAR(0, found.least_s, 1e-15);
  EXPECT_NEAR(3 * 600 * tick_s, found.most_s, 1e-15);
}

TEST(Estimate, long_calls_differ_by_waiting) {
  const Durations of = of_calls({1'000'000, 2'000'000, 3'000'000, 4'000'000}, 3);
  const Floor floor = floor_of({of});
  EXPECT_NEAR(3 * 6e-3, estimate(Calls(of, tick_s), floor, floor, by_waiting).seconds, 1e-9);
}

/// The paper's open end: a process of which all calls wait is compared with others where that is known to be right.
TEST(Estimate, a_process_that_always_waits_needs_the_shortest_of_others) {
  const Durations always = of_calls({100'000}, 20), never = of_calls({1000}, 20);
  const Floor own = floor_of({always}), all = floor_of({always, never});
  const Calls calls(always, tick_s);
  EXPECT_NEAR(0, estimate(calls, own, all, by_waiting).seconds, 1e-15);
  EXPECT_NEAR(20 * 99'000 * tick_s, estimate(calls, own, all, by_waiting).most_s, 1e-12);
  EXPECT_NEAR(20 * 99'000 * tick_s, estimate(calls, all, all, by_waiting).seconds, 1e-12);
  EXPECT_NEAR(20 * 96'000 * tick_s, estimate(calls, all, all, by_waiting).least_s, 1e-12);
}

/// Of a partner that is late each time: even the shortest call has waited.
TEST(Estimate, may_be_all_time_where_no_call_is_known_not_to_have_waited) {
  const Durations of = of_calls({20'000'000, 20'100'000, 20'200'000}, 20);
  const Floor floor = floor_of({of});
  const Calls calls(of, tick_s);
  const Estimate of_messages = estimate(calls, floor, floor, {.long_by = LongBy::waiting});
  EXPECT_EQ(0, of_messages.least_s);
  EXPECT_NEAR(calls.time_s, of_messages.most_s, 1e-12);
  EXPECT_NEAR(20 * 300'000 * tick_s, of_messages.most_by_shortest_s, 1e-9);
  const Estimate of_all = estimate(calls, floor, floor, by_waiting);
  EXPECT_NEAR(of_all.most_by_shortest_s, of_all.most_s, 1e-12);
}

TEST(Estimate, calls_that_are_longer_than_any_network_needs_have_waited) {
  const Durations of = of_calls({20'000'000, 20'100'000, 20'200'000}, 20);
  const Floor floor = floor_of({of});
  const Calls calls(of, tick_s);
  const CallBin small(Transfer{.bytes = 8, .what = Transfer::receives}),
      large(Transfer{.bytes = 1 << 21, .what = Transfer::receives});
  for (const LongBy long_by : {LongBy::waiting, LongBy::data}) {
    const Estimate found = estimate(calls, floor, floor, {.long_by = long_by, .slowest_s = slowest_of(small)});
    EXPECT_NEAR(calls.time_s, found.seconds, 0.02 * calls.time_s);
    EXPECT_EQ(0, found.least_s);
  }
  const Estimate found = estimate(calls, floor, floor, {.long_by = LongBy::data, .slowest_s = slowest_of(large)});
  EXPECT_NEAR(0, found.seconds, 1e-12);
}

TEST(Estimate, time_without_a_processor_is_none_that_must_have_been_waiting) {
  const Durations of = of_calls({1000, 1000, 2000, 2000, 100'000, 200'000}, 2);
  const Floor floor = floor_of({of});
  const Estimate whole = estimate(Calls(of, tick_s), floor, floor, by_waiting);
  Comparison by = by_waiting;
  by.off_processor = 0.75;
  const Estimate found = estimate(Calls(of, tick_s), floor, floor, by);
  EXPECT_NEAR(whole.least_s / 4, found.least_s, 1e-15);
  EXPECT_EQ(whole.seconds, found.seconds);
  EXPECT_EQ(whole.most_s, found.most_s);
}

TEST(Estimate, all_time_of_polling_may_be_waiting) {
  const Durations of = of_calls({100, 120, 140}, 1000);
  const Floor floor = floor_of({of});
  const Estimate found = estimate(Calls(of, tick_s), floor, floor, {.long_by = LongBy::polling});
  EXPECT_NEAR(1000 * 360 * tick_s, found.seconds, 1e-12);
  EXPECT_EQ(0, found.least_s);
  EXPECT_EQ(found.seconds, found.most_s);
}

TEST(Estimate, few_calls_may_all_have_waited) {
  const Durations of = of_calls({100'000, 101'000, 102'000});
  const Floor floor = floor_of({of});
  const Estimate found = estimate(Calls(of, tick_s), floor, floor, by_waiting);
  EXPECT_EQ(0, found.least_s);
  EXPECT_NEAR(303'000 * tick_s, found.most_s, 1e-15);
}

TEST(Estimate, is_never_more_than_the_time) {
  const Durations of = of_calls({0, 5, 10}, 10);
  const Estimate found = estimate(Calls(of, tick_s), {}, {}, by_waiting);
  EXPECT_LE(found.seconds, 150 * tick_s);
  EXPECT_LE(found.most_s, 150 * tick_s);
}

}  // namespace
}  // namespace refrain::waits

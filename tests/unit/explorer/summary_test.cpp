// What is kept where not all fits: places, curves, maps, values.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "offline/explorer/loop_summary.hpp"
#include "offline/explorer/places.hpp"
#include "offline/explorer/value_table.hpp"

namespace refrain::explorer {
namespace {

std::vector<Thread> job(std::size_t ranks) {
  std::vector<Thread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    threads.push_back({rank % 2 == 0 ? "even" : "odd", static_cast<std::int32_t>(rank), 0,
                       10 + 0.01 * static_cast<double>(rank % 7), 1});
  return threads;
}

TEST(Places, stand_machine_by_machine) {
  const Grouping all = group_places(job(6), 100);
  EXPECT_FALSE(all.is_grouped);
  std::vector<std::int32_t> ranks;
  for (const Place& place : all.places) ranks.push_back(place.rank);
  EXPECT_EQ((std::vector<std::int32_t>{0, 2, 4, 1, 3, 5}), ranks);
  for (std::size_t thread = 0; thread < 6; ++thread)
    EXPECT_EQ(static_cast<std::int32_t>(thread), all.places[all.place_of[thread]].rank);
}

TEST(Places, keep_outliers_and_count_the_rest) {
  std::vector<Thread> threads = job(1000);
  threads[123].user_s = 50;
  threads[700].mpi_s = 9;
  const Grouping few = group_places(threads, 40);
  EXPECT_TRUE(few.is_grouped);
  EXPECT_LE(few.places.size(), 44U);
  std::int64_t count = 0;
  for (const Place& place : few.places) count += place.locations;
  EXPECT_EQ(1000, count);
  for (const std::size_t rank : {123U, 700U}) {
    const Place& place = few.places[few.place_of[rank]];
    EXPECT_EQ(static_cast<std::int32_t>(rank), place.rank);
    EXPECT_EQ(1, place.locations);
  }
  for (std::size_t thread = 0; thread < threads.size(); ++thread)
    EXPECT_EQ(threads[thread].host, few.places[few.place_of[thread]].host) << "no group spans machines";
}

TEST(Places, those_looked_at_are_outliers_and_others_from_everywhere) {
  std::vector<Thread> threads = job(1000);
  threads[123].user_s = 50;
  threads[700].mpi_s = 9;
  const std::vector<bool> chosen = choose_threads(threads, 64);
  EXPECT_EQ(64, std::ranges::count(chosen, true));
  EXPECT_TRUE(chosen[123]);
  EXPECT_TRUE(chosen[700]);
  for (std::ptrdiff_t part = 0; part < 10; ++part)
    EXPECT_GE(std::count(chosen.begin() + 100 * part, chosen.begin() + 100 * (part + 1), true), 2) << part;
  EXPECT_EQ(64, std::ranges::count(choose_threads(job(64), 64), true)) << "all of a few";
}

/// Values of one metric at one place.
BinnedPlace place_of(const Bins& bins, const std::vector<double>& values) {
  BinnedPlace place(bins);
  for (std::size_t i = 0; i < values.size(); ++i) place.add(bins.of(static_cast<std::int64_t>(i)), values[i]);
  return place;
}

TEST(Bins, hold_as_many_iterations_each) {
  const Bins bins(5, 2);
  EXPECT_EQ(3, bins.width);
  EXPECT_EQ(2U, bins.count);
  EXPECT_EQ(0U, bins.of(2));
  EXPECT_EQ(1U, bins.of(3));
  EXPECT_EQ(bins.count, bins.of(6)) << "behind the last iteration there is none";
  EXPECT_EQ(bins.count, bins.of(-1));
}

TEST(Curves, are_over_places) {
  const Bins bins(4, 2);  // two iterations in a bin
  CurveBuilder curve(bins, 3);
  for (const double base : {1.0, 2.0, 9.0}) curve.add(place_of(bins, {base, base + 1, base + 2, base + 3}));
  const Curves done = curve.finish();
  EXPECT_EQ(2, done.width);
  EXPECT_EQ((std::vector<float>{1.5F, 3.5F}), done.least);
  EXPECT_EQ((std::vector<float>{2.5F, 4.5F}), done.median);
  EXPECT_EQ((std::vector<float>{9.5F, 11.5F}), done.greatest);
  EXPECT_EQ((std::vector<float>{10, 12}), done.peak);
}

TEST(Curves, do_not_make_a_zero_of_what_is_not_there) {
  const Bins bins(3, 8);
  CurveBuilder curve(bins, 2);
  curve.add(place_of(bins, {5, NAN}));
  curve.add(place_of(bins, {}));
  const Curves done = curve.finish();
  EXPECT_EQ(5, done.median[0]);
  EXPECT_TRUE(std::isnan(done.median[1]));
  EXPECT_TRUE(std::isnan(done.least[2]));
}

TEST(Maps, have_means_and_peaks) {
  const Bins single(3, 10), pairs(4, 2);
  MapBuilder exact(single, 2, 10), coarse(pairs, 4, 2);
  exact.add(1, place_of(single, {NAN, NAN, 7}));
  const Map one = exact.finish();
  EXPECT_TRUE(one.peak.empty());
  EXPECT_EQ(7, one.mean[5]);
  for (std::size_t place = 0; place < 4; ++place) {
    const auto base = static_cast<double>(place * 4);
    coarse.add(place, place_of(pairs, {base, base + 1, base + 2, base + 3}));
  }
  const Map map = coarse.finish();
  EXPECT_EQ(2, map.places_in_row);
  EXPECT_EQ((std::vector<float>{2.5F, 4.5F, 10.5F, 12.5F}), map.mean);
  EXPECT_EQ((std::vector<float>{5, 7, 13, 15}), map.peak);
}

TEST(Job, has_the_slowest_place_of_each_iteration_however_places_are_added) {
  std::vector<JobBuilder::Times> fast(2), slow(2);
  fast[0].add(1, 0.5, 0.5), fast[1].add(1, 0, 1);
  slow[0].add(3, 0.5, 2.5), slow[1].add(1, 0, 1);
  JobBuilder job(2), other(2);
  job.add_place(fast);
  other.add_place(slow);
  job.add(other);
  const auto iterations = job.finish();
  EXPECT_EQ(2, iterations[0].wall);
  EXPECT_EQ(3, iterations[0].slowest);
  EXPECT_EQ(1.5, iterations[0].user);
  EXPECT_EQ(1, iterations[1].slowest);
}

TEST(Values, extremes_are_those_of_threads_that_share_a_place) {
  ValueTable table(2, 10, 1);
  explorer::Run run;
  run.places = {{"one", 0, 0, 3, 2}};
  for (const std::int32_t rank : {0, 1, 2}) table.add_thread(1, 4, 0, rank, rank == 1 ? 9.25 : 2.5 + rank);
  table.add_thread(1, 5, 0, 1, 7);
  table.finish({0, 1}, run);
  ASSERT_EQ(5U, run.sums.size());
  const auto row = [&](Sums::Kind kind) { return *std::ranges::find(run.sums, kind, &Sums::kind); };
  EXPECT_EQ((std::vector<double>{16.25, 7}), row(Sums::Values).values);
  EXPECT_EQ((std::vector<double>{2.5, 0}), row(Sums::Least).values);
  EXPECT_EQ((std::vector<double>{0, -1}), row(Sums::LeastRank).values) << "two threads have nothing of node 5";
  EXPECT_EQ((std::vector<double>{9.25, 7}), row(Sums::Greatest).values);
  EXPECT_EQ((std::vector<double>{1, 1}), row(Sums::GreatestRank).values);
  EXPECT_EQ((std::vector<std::uint32_t>{4, 5}), row(Sums::Greatest).nodes);
}

TEST(Values, become_ascending_rows) {
  ValueTable table(3, 10, 2);
  table.keep_by_place(1, false);
  table.add(1, 2, 4, 0, 8);
  table.add(0, 2, 4, 1, 2);
  table.add(0, 2, 3, 0, 1);
  table.add(0, 2, 4, 0, 5);
  table.add(0, 1, 4, 0, 0);
  EXPECT_EQ((std::vector<bool>{false, false, true}), table.used_metrics());
  explorer::Run run;
  table.finish({0, 0, 1}, run);
  ASSERT_EQ(2U, run.sums.size());
  EXPECT_EQ((std::vector<std::uint32_t>{3, 4}), run.sums[0].nodes);
  EXPECT_EQ((std::vector<double>{1, 7}), run.sums[0].values);
  EXPECT_EQ(1U, run.sums[0].metric);
  EXPECT_EQ(1U, run.sums[1].unit);
  ASSERT_EQ(2U, run.cells.size());
  EXPECT_EQ((std::vector<float>{5, 2}), run.cells[1].values);
}

}  // namespace
}  // namespace refrain::explorer

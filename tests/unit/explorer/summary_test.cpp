// What is kept where not all fits: places, curves, maps, values.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <set>

#include "offline/explorer/loop_summary.hpp"
#include "offline/explorer/map_size.hpp"
#include "offline/explorer/pack.hpp"
#include "offline/explorer/places.hpp"
#include "offline/explorer/sections.hpp"
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

TEST(Places, have_room_for_as_many_values_as_fit) {
  constexpr std::size_t megabyte = 1'000'000;
  const std::size_t values = room_for_values(10 * megabyte);
  EXPECT_LE(values * 17 / 10, 55 * megabyte / 10);
  EXPECT_GE(values * 18 / 10, 55 * megabyte / 10);
  EXPECT_EQ(values / 1000, room_for_places(values, 1000));
  EXPECT_EQ(128U, room_for_places(values, values));
  EXPECT_EQ(128U, room_for_places(0, 0));
}

TEST(Places, those_looked_at_are_outliers_and_others_from_everywhere) {
  std::vector<Thread> threads = job(1000);
  threads[123].user_s = 50;
  threads[700].mpi_s = 9;
  const std::vector<double> weights = choose_threads(threads, 64);
  const auto is_chosen = [](double weight) { return weight > 0; };
  EXPECT_EQ(64, std::ranges::count_if(weights, is_chosen));
  EXPECT_EQ(1, weights[123]);
  EXPECT_EQ(1, weights[700]);
  EXPECT_EQ(32, std::ranges::count(weights, 968.0 / 32)) << "they stand for the threads that are no outliers";
  for (std::ptrdiff_t part = 0; part < 10; ++part)
    EXPECT_GE(std::count_if(weights.begin() + 100 * part, weights.begin() + 100 * (part + 1), is_chosen), 2) << part;
  EXPECT_EQ(std::vector<double>(64, 1), choose_threads(job(64), 64)) << "all of a few";
}

/// Values of one metric at one place.
BinnedPlace place_of(const Bins& bins, const std::vector<double>& values) {
  BinnedPlace place(bins);
  for (std::size_t i = 0; i < values.size(); ++i) place.add(bins.of(static_cast<std::int64_t>(i)), values[i]);
  return place;
}

constexpr std::size_t usual_bytes = 20'000'000;  // of which maps have 6.4 MB

TEST(MapSizes, are_1024_by_1024_in_a_file_of_usual_size) {
  const MapSize large = map_sizes(std::vector<MapOf>{{5000, 100'000}}, usual_bytes).at(0);
  EXPECT_EQ(1024U, large.rows);
  EXPECT_EQ(1024U, large.columns);
  EXPECT_EQ(16U, large.code_step) << "means and peaks of three metrics, a byte each: 6.3 MB";
  const MapSize whole = map_sizes(std::vector<MapOf>{{1024, 1024}}, usual_bytes).at(0);
  EXPECT_EQ(1024U, whole.rows);
  EXPECT_EQ(1024U, whole.columns);
  EXPECT_EQ(1U, whole.code_step) << "three means, two bytes each: 6.3 MB";
}

TEST(MapSizes, are_long_of_few_places_and_high_of_few_iterations) {
  const auto sizes = [](MapOf of, std::size_t bytes) { return map_sizes(std::span(&of, 1), bytes).at(0); };
  EXPECT_EQ(64U, sizes({64, 1'000'000}, usual_bytes).rows);
  EXPECT_EQ(4096U, sizes({64, 1'000'000}, usual_bytes).columns);
  EXPECT_EQ(1U, sizes({64, 1'000'000}, usual_bytes).code_step) << "2^18 cells of 12 bytes: 3.1 MB";
  EXPECT_EQ(1024U, sizes({4096, 64}, usual_bytes).rows);
  EXPECT_EQ(64U, sizes({4096, 64}, usual_bytes).columns);
  const MapSize small = sizes({4096, 32}, 1'000'000);  // 320 kB: 53,333 cells of six values
  EXPECT_EQ(1024U, small.rows);
  EXPECT_EQ(32U, small.columns);
  EXPECT_EQ(16U, small.code_step);
  const MapSize least = sizes({1000, 1000}, 0);
  EXPECT_EQ(64U, least.rows);
  EXPECT_EQ(64U, least.columns);
  EXPECT_EQ(1U, sizes({0, 0}, usual_bytes).rows);
}

TEST(MapSizes, of_small_loops_leave_their_room_to_others) {
  const std::vector<MapSize> uneven = map_sizes(std::vector<MapOf>{{5000, 100'000}, {100, 10}}, usual_bytes);
  EXPECT_EQ(1024U, uneven[0].rows) << "1,000 means of 6 bytes leave 6.394 MB, 1,024 x 1,024 take 6.291";
  EXPECT_EQ(1024U, uneven[0].columns);
  EXPECT_EQ(100U, uneven[1].rows);
  EXPECT_EQ(10U, uneven[1].columns);
  EXPECT_EQ(1U, uneven[1].code_step);
  for (const MapSize& of : map_sizes(std::vector<MapOf>(2, MapOf{5000, 100'000}), usual_bytes)) {
    EXPECT_EQ(730U, of.rows) << "3.2 MB: 533,333 cells of six bytes";
    EXPECT_EQ(730U, of.columns);
  }
}

TEST(MapSizes, hold_in_the_file) {
  // Times that scatter by a tenth, as of 1,024 x 1,024 places and bins.
  const MapSize size = map_sizes(std::vector<MapOf>{{5000, 100'000}}, usual_bytes).at(0);
  std::mt19937_64 random(1);
  std::normal_distribution<float> scatter(1, 0.1F);
  explorer::Run run;
  Loop& loop = run.loops.emplace_back();
  for (std::size_t metric = 0; metric < metrics_with_map; ++metric) {
    Map& map = loop.maps.emplace_back();
    map.code_step = size.code_step;
    for (std::size_t cell = 0; cell < size.rows * size.columns; ++cell) {
      map.mean.push_back(scatter(random));
      map.peak.push_back(map.mean.back() * 1.3F * scatter(random));
    }
  }
  EXPECT_LE(base64_size(compressed(maps_section(run), Repeats::Bytes).size()), 7'000'000U) << "six to seven bits each";
}

TEST(Bins, are_found_without_a_division) {
  const Bins bins(10, 4);
  BinCursor cursor(bins);
  for (const std::int64_t i : {0, 1, 2, 3, 3, 8, 9, 10, 11, 40}) EXPECT_EQ(bins.of(i), cursor.of(i)) << i;
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

TEST(Curves, medians_are_of_the_places_that_others_stand_for) {
  const Bins bins(2, 2);
  CurveBuilder curve(bins, 5);
  for (const double outlier : {7.0, 8.0, 9.0}) curve.add(place_of(bins, {outlier, outlier}));
  curve.add(place_of(bins, {1, 1}), 10);
  curve.add(place_of(bins, {2, NAN}), 20);
  const Curves done = curve.finish();
  EXPECT_EQ((std::vector<float>{2, 1}), done.median) << "17 of 33, 7 of 13";
  EXPECT_EQ((std::vector<float>{1, 1}), done.least);
  EXPECT_EQ((std::vector<float>{9, 9}), done.greatest);
  EXPECT_EQ(5, done.places);
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
  EXPECT_TRUE(std::isnan(one.mean[4])) << "nothing is known of it";
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
  job.add_place(0, fast);
  other.add_place(1, slow);
  job.add(other);
  const JobIterations iterations = job.finish();
  EXPECT_EQ(2, iterations.all[0].wall);
  EXPECT_EQ(3, iterations.all[0].slowest);
  EXPECT_EQ(1.5, iterations.all[0].user);
  EXPECT_EQ(1, iterations.all[1].slowest);
  EXPECT_EQ((std::vector<std::int64_t>{2, 2}), iterations.count);
  EXPECT_EQ((std::vector<std::int64_t>{0, 1}), iterations.of_peaks);
  const auto all_zero = [](const analysis::Projected& of) {
    return std::ranges::all_of(of, [](float sum) { return std::abs(sum) < 1e-6F; });
  };
  EXPECT_FALSE(all_zero(iterations.all[0].differences));
  EXPECT_TRUE(all_zero(iterations.all[1].differences)) << "places do not differ";
}

TEST(Job, knows_no_differences_between_places_where_one_is_missing) {
  std::vector<JobBuilder::Times> first(2), second(2);
  first[0].add(1, 0, 1), first[1].add(1, 0, 1);
  second[0].add(2, 0, 2);
  JobBuilder job(2);
  job.add_place(0, first);
  job.add_place(1, second);
  const JobIterations iterations = job.finish();
  EXPECT_TRUE(std::isfinite(iterations.all[0].differences[0]));
  EXPECT_FALSE(std::isfinite(iterations.all[1].differences[0]));
}

TEST(Job, of_very_many_iterations_has_the_slowest_of_each_group) {
  constexpr std::int64_t count = std::int64_t{3} << 18;  // three in a group
  JobBuilder job(count), other(count);
  std::vector<JobBuilder::Times> times(job.groups().count);
  for (std::int64_t i = 0; i < 3; ++i) times[1].add(i == 1 ? 5 : 1, 0, 1, i);
  job.add_place(0, times);
  times[1] = {};
  for (std::int64_t i = 0; i < 3; ++i) times[1].add(i == 2 ? 4 : 1, 0, 1, i);
  other.add_place(1, times);
  times[0].add(9, 0, 9, 1);
  other.add_place(2, times);
  job.add(other);
  const JobIterations iterations = job.finish();
  EXPECT_EQ(3, iterations.width);
  EXPECT_EQ(4, iterations.of_peaks[1]) << "the second iteration of the second group";
  EXPECT_EQ(9, iterations.count[1]);
  EXPECT_EQ(1, iterations.of_peaks[0]);
  EXPECT_EQ(-1, iterations.of_peaks[2]) << "nothing is known of it";
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

TEST(Values, of_a_unit_are_scaled_by_metric) {
  ValueTable table(2, 10, 2);
  table.keep_by_place(1, true);
  table.add(0, 1, 4, 0, 8);
  table.add(1, 0, 4, 0, 3);
  table.add(1, 1, 4, 0, 4);
  table.add(1, 1, 4, 1, 6);
  table.scale(1, [](std::size_t metric) { return metric == 1 ? 0.5 : 1; });
  explorer::Run run;
  table.finish({0, 1}, run);
  ASSERT_EQ(3U, run.sums.size());
  EXPECT_EQ((std::vector<double>{8}), run.sums[0].values);
  EXPECT_EQ((std::vector<double>{3}), run.sums[1].values);
  EXPECT_EQ((std::vector<double>{5}), run.sums[2].values);
  EXPECT_EQ((std::vector<float>{2, 3}), run.cells[2].values);
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

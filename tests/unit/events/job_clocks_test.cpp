// Clocks of several machines become one, whatever their calendars say.

#include "offline/trace/job_clocks.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace refrain::trace {
namespace {

constexpr std::int64_t second = 1'000'000'000;

/// A machine's clock: how far it is ahead of the true time, and how much it gains in a second.
struct Planted {
  std::int64_t ahead_ns;
  double gain;
  std::int64_t at(std::int64_t true_ns) const {
    return true_ns + ahead_ns + static_cast<std::int64_t>(static_cast<double>(true_ns) * gain);
  }
};

experiment::Rank rank_on(std::int32_t number, std::uint64_t clock, const Planted& planted,
                         std::int64_t calendar_error) {
  experiment::Rank rank;
  rank.rank = number;
  rank.begin_epoch_ns = 1000 * second + calendar_error;
  rank.events.emplace();
  rank.events->clock = clock;
  rank.events->first.monotonic_ns = planted.at(0);
  return rank;
}

/// `own` measures `other` at that true time, with a round trip of `round_trip` and an answer that is off by a part of
/// it.
void see(experiment::Rank& rank, std::int32_t other_rank, const Planted& own, const Planted& other,
         std::int64_t true_ns, std::int64_t round_trip, std::int64_t error) {
  const std::int64_t at = own.at(true_ns);
  rank.events->clock_offsets.push_back({other_rank, at, other.at(true_ns) - at + error, round_trip});
}

TEST(JobClocks, offset_and_drift_are_taken_out_along_a_chain_of_machines) {
  const Planted a{0, 0}, b{-5 * second, 2e-5}, c{7 * second, -3e-5};
  experiment::Rank on_a = rank_on(0, 11, a, 0), on_b = rank_on(1, 22, b, 3 * second), on_c = rank_on(3, 33, c, -second);
  for (const std::int64_t t : {std::int64_t{0}, 3600 * second}) {
    see(on_b, 0, b, a, t, 20'000, 4'000);
    see(on_c, 1, c, b, t, 30'000, -5'000);
  }
  JobClocks clocks;
  for (const auto* rank : {&on_a, &on_b, &on_c}) clocks.add(*rank);
  clocks.connect();
  EXPECT_EQ(3u, clocks.machines());
  EXPECT_EQ(25'000, clocks.uncertainty_ns());
  for (const std::int64_t t : {0 * second, 1 * second, 1800 * second, 3600 * second, 4000 * second}) {
    const std::int64_t truth = clocks.time_of(on_a, a.at(t));
    EXPECT_NEAR(truth, clocks.time_of(on_b, b.at(t)), 4'500) << t;
    EXPECT_NEAR(truth, clocks.time_of(on_c, c.at(t)), 10'000) << t;
  }
}

TEST(JobClocks, the_quickest_answers_count) {
  const Planted a{0, 0}, b{second, 0};
  experiment::Rank on_a = rank_on(0, 11, a, 0), on_b = rank_on(1, 22, b, 0), too = rank_on(2, 22, b, 0);
  see(on_b, 0, b, a, 0, 900'000, 400'000);
  see(too, 0, b, a, second, 10'000, 1'000);
  see(on_b, 0, b, a, 3600 * second, 10'000, 1'000);
  see(too, 0, b, a, 3601 * second, 900'000, -400'000);
  JobClocks clocks;
  for (const auto* rank : {&on_a, &on_b, &too}) clocks.add(*rank);
  clocks.connect();
  EXPECT_EQ(2u, clocks.machines());
  EXPECT_EQ(5'000, clocks.uncertainty_ns());
  EXPECT_NEAR(clocks.time_of(on_a, a.at(1800 * second)), clocks.time_of(too, b.at(1800 * second)), 1'100);
}

TEST(JobClocks, calendars_must_do_where_nothing_was_measured) {
  const Planted a{0, 0}, b{second, 0};
  experiment::Rank on_a = rank_on(0, 11, a, 0), on_b = rank_on(1, 22, b, 2'000);
  // As in a damaged file.
  on_b.events->clock_offsets.push_back({0, std::numeric_limits<std::int64_t>::min(), 5, 5});
  on_b.events->clock_offsets.push_back({7, 5, 5, 5});
  JobClocks clocks;
  for (const auto* rank : {&on_a, &on_b}) clocks.add(*rank);
  clocks.connect();
  EXPECT_EQ(-1, clocks.uncertainty_ns());
  EXPECT_FALSE(clocks.offset_of(1, b.at(0)));
  EXPECT_NEAR(clocks.time_of(on_a, a.at(second)) + 2'000, clocks.time_of(on_b, b.at(second)), 10);
}

}  // namespace
}  // namespace refrain::trace

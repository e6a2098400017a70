#include "offline/run/rows.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <utility>

#include "offline/run/iteration_profile.hpp"
#include "offline/run/totals.hpp"
#include "tests/unit/analysis/loop_builder.hpp"

namespace refrain::run {
namespace {

namespace test = analysis::test;

TEST(Clock, makes_nanoseconds_of_ticks) {
  EXPECT_EQ(Clock(1e9).ns(123'456'789'012'345), 123'456'789'012'345);
  EXPECT_EQ(Clock(2e9).ns(3), 2) << "halves are rounded up";
  EXPECT_EQ(Clock(2.5e9).ns(10'000'000'000), 4'000'000'000);
  EXPECT_EQ(Clock(1e9).ns(-5), 0);
  EXPECT_EQ(Clock(1).ns(std::numeric_limits<std::int64_t>::max()), std::numeric_limits<std::int64_t>::max());
}

/// The location of a profile with these units.
struct Made {
  explicit Made(std::vector<test::Iteration> iterations, double ticks_per_second = 1e9)
      : profile(test::profile_of(std::move(iterations))) {
    rank().ticks_per_second = ticks_per_second;
  }
  experiment::Rank& rank() { return profile.ranks[0]; }
  experiment::Location& location() { return rank().locations[0]; }
  Leaf leaf() {
    totals = totals_of(location().units, rank(), location(), profile.paths);
    return leaves.of(rank(), location(), totals);
  }
  experiment::Profile profile;
  experiment::RunTotals totals;
  Leaves leaves{profile};
};

TEST(Leaf, has_times_that_add_up_to_the_nanosecond_at_any_clock) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    const auto any = [&](std::uint64_t most) { return static_cast<std::int64_t>(random() % most); };
    Made made({{0,
                3'000'000 + any(1'000'000),
                {3, any(1'000'000), 3, 8},
                {2, any(1'000'000), 0, 0},
                {9, 1 + any(9'000)},
                {4, 1 + any(9'000)}}},
              2.2999e9 + static_cast<double>(any(1'000'000)));
    const Leaf leaf = made.leaf();
    const Clock clock(made.rank().ticks_per_second);
    std::int64_t all = 0, in_mpi = 0;
    for (const Row& row : leaf.rows) {
      EXPECT_GE(row.ns, 0);
      EXPECT_TRUE(row.has(wall));
      all += row.ns;
      in_mpi += row.has(mpi) ? row.ns : 0;
    }
    ASSERT_EQ(all, clock.ns(made.totals.times.wall));
    ASSERT_EQ(in_mpi, clock.ns(made.totals.times.mpi)) << "MPI comes first: its sum is rounded once, too";
  }
}

TEST(Leaf, tells_what_a_row_is) {
  Made made({{0, 10'000, {2, 3'000, 2, 64}, {}, {20, 5'000}, {}}});
  const Leaf leaf = made.leaf();
  ASSERT_EQ(leaf.rows.size(), 2u);
  const Row &sends = leaf.rows[0], &code = leaf.rows[1];
  EXPECT_EQ(sends.path, test::send);
  EXPECT_EQ(sends.ns, 3'000);
  EXPECT_TRUE(sends.has(mpi) && sends.has(mpi_point_to_point) && !sends.has(user) && !sends.is_divided);
  EXPECT_EQ(sends.value(format::MetricId::BytesSent), 64);
  EXPECT_EQ(code.path, test::function_10);
  EXPECT_EQ(code.ns, 7'000);
  EXPECT_TRUE(code.has(user) && !code.has(mpi) && code.is_divided);
}

TEST(Leaf, has_bounds_where_time_off_the_cpu_was_not_counted) {
  Made made({{0, 10'000, {2, 3'000, 2, 64}, {}, {20, 5'000}, {}}});
  made.location().units[0].cpu_ns = 6'000;  // 4,000 off the CPU: 1,000 to 4,000 of them in user code
  const Leaf leaf = made.leaf();
  const auto off = std::ranges::find_if(
      leaf.rows, [](const Row& row) { return row.path == Row::by_rules && row.pseudo == Pseudo::NotOnCpu; });
  ASSERT_NE(off, leaf.rows.end());
  EXPECT_EQ(off->ns - off->below, 1'000);
  EXPECT_EQ(off->ns + off->above, 4'000);
  EXPECT_FALSE(tells_waiting(made.rank(), made.location()));
}

TEST(Leaf, of_a_cluster_has_what_its_members_did) {
  const experiment::Profile profile = test::profile_of({{0, 10'000, {2, 3'000, 2, 64}, {}, {20, 5'000}, {}},
                                                        {1, 50'000, {2, 6'000, 2, 64}, {1, 4'000}, {10, 10'000}, {}},
                                                        {0, 20'000, {4, 6'000, 4, 128}, {}, {40, 10'000}, {}}});
  const IterationProfiles profiles(profile, profile.ranks[0], profile.ranks[0].locations[0], 0);
  std::int64_t all = 0;
  profiles.with_rows(*profiles.cluster_unit(0), true, [&](const Leaf& leaf) {
    for (const Row& row : leaf.rows) all += row.ns;
    EXPECT_FALSE(leaf.is_whole_run);
  });
  EXPECT_EQ(all, 30'000);
  const auto calls = profiles.calls_of(0);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].path, test::send);
  EXPECT_EQ(calls[0].number, 6);
  EXPECT_DOUBLE_EQ(calls[0].seconds, 9'000e-9);
  EXPECT_TRUE(profiles.calls_of(7).empty());
}

}  // namespace
}  // namespace refrain::run

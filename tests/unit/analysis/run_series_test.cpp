// What of a run is compared with other runs: an iteration's time by its first thread, call paths by all threads of a
// rank.
#include "offline/analysis/run_series.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/unit/analysis/loop_builder.hpp"
#include "tests/unit/analysis/loop_log.hpp"

namespace refrain::analysis {
namespace {

using test::Iteration;

/// Milliseconds of each iteration in function 0x10; on worker threads in 0x20, of iterations that are shorter.
std::vector<RunSeries> series(std::int32_t ranks, std::int32_t threads) {
  constexpr std::int64_t ms = 1'000'000;
  experiment::WholeExperiment whole;
  whole.profile = test::empty_profile();
  whole.profile.ranks_expected = ranks;
  whole.profile.regions.push_back("step");
  whole.profile.paths[test::frame_10] = {0, format::NodeKind::Marked, -1, 2};
  whole.profile.paths[test::function_10].parent = test::frame_10;
  for (std::int32_t r = 0; r < ranks; ++r) {
    experiment::Rank& rank = whole.profile.ranks.emplace_back();
    rank.rank = r;
    rank.ticks_per_second = 1e9;
    for (std::int32_t t = 0; t < threads; ++t) {
      experiment::Location& location = rank.locations.emplace_back();
      location.rank = r;
      location.thread = t;
      location.name = t == 0 ? "main" : "worker";
      location.losses.assign(format::loss_count, 0);
      const Iteration of_first{0, 10 * ms, {}, {}, {10, 10 * ms}, {}, 0},
          of_worker{0, 6 * ms, {}, {}, {}, {6, 6 * ms}, 0};
      const std::vector<Iteration> iterations(64, t == 0 ? of_first : of_worker);
      test::add_loop(location, "step", iterations);
      test::add_log(location.loops.back(), iterations);
      for (const Iteration& of : iterations) location.end += of.wall;
    }
  }
  const auto held = experiment::Experiment::of(whole);
  Symbolizer symbolizer;
  return series_of_run(*held, build_call_tree(*held, symbolizer, {}), 0.01);
}

double mean_of(const std::vector<RunSeries>& all, const std::string& path) {
  const auto at = std::ranges::find(all, path, &RunSeries::path);
  return at == all.end() ? -1 : at->mean.value;
}

TEST(RunSeries, threads_of_a_rank_are_added_up_and_ranks_are_averaged) {
  for (const std::int32_t ranks : {1, 3, 40})
    for (const std::int32_t threads : {1, 2, 4}) {
      const auto all = series(ranks, threads);
      EXPECT_NEAR(0.010, mean_of(all, ""), 1e-9) << ranks << ", " << threads;
      EXPECT_NEAR(0.010, mean_of(all, "0x10"), 1e-9) << ranks << ", " << threads;
      EXPECT_NEAR(threads > 1 ? 0.006 * (threads - 1) : -1, mean_of(all, "0x20"), 1e-9) << ranks << ", " << threads;
    }
}

}  // namespace
}  // namespace refrain::analysis

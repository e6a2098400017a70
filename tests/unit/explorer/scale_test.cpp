// Jobs of more ranks than are reconstructed: what is kept exact, and what is told.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "offline/explorer/from_experiment.hpp"
#include "offline/explorer/loop_pass.hpp"
#include "offline/explorer/sections.hpp"

namespace refrain::explorer {
namespace {

namespace fs = std::filesystem;

/// The first thread of an experiment with a loop, as often as wanted.
std::shared_ptr<const experiment::Experiment> job_of(std::int32_t ranks, const experiment::Thinning& thinning = {}) {
  const auto golden = experiment::Experiment::open(fs::path(GOLDEN) / "profile-1.9");
  const experiment::RankHandle first = golden->rank(0, experiment::Depth::Whole);
  experiment::WholeExperiment whole{golden->directory(), golden->manifest(), {}};
  static_cast<experiment::ProfileDefinitions&>(whole.profile) = golden->definitions();
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    experiment::Rank& copy = whole.profile.ranks.emplace_back(*first);
    copy.rank = rank;
    copy.locations.resize(1);
    copy.locations[0].rank = rank;
    for (experiment::Loop& loop : copy.locations[0].loops) loop.thinning = thinning;
  }
  return experiment::Experiment::of(std::move(whole));
}

explorer::Run shown(std::int32_t ranks, std::size_t bytes = Request().bytes,
                    std::int64_t path_values = Request().path_values) {
  symbols::Symbolizer symbolizer;
  Request request;
  request.bytes = bytes;
  request.path_values = path_values;
  return run_of(job_of(ranks), symbolizer, request);
}

std::int64_t lacks_with(const explorer::Run& run, const std::string& text) {
  return std::ranges::count_if(run.lacks, [&](const Lack& lack) { return lack.text.find(text) != std::string::npos; });
}

/// Of all call paths together: the metric with those below it.
double sum_of(const explorer::Run& run, std::uint32_t unit, const std::string& name) {
  std::set<std::uint32_t> parts;
  for (std::uint32_t m = 0; m < run.metrics.size(); ++m) {
    const Metric& metric = run.metrics[m];
    if (metric.name == name ||
        (metric.parent >= 0 && parts.contains(static_cast<std::uint32_t>(metric.parent)) && !metric.overlaps))
      parts.insert(m);
  }
  double sum = 0;
  for (const Sums& row : run.sums)
    if (row.kind == Sums::Values && row.unit == unit && parts.contains(row.metric))
      for (const double value : row.values) sum += value;
  return sum;
}

constexpr auto few = static_cast<std::int32_t>(most_reconstructed_locations), many = few + 6;

TEST(Scale, all_of_few_ranks_are_reconstructed) {
  const explorer::Run run = shown(few);
  ASSERT_FALSE(run.loops.empty());
  EXPECT_EQ(0, lacks_with(run, "threads, which are"));
}

TEST(Scale, long_loops_are_told_and_their_classes_are_estimates) {
  symbols::Symbolizer symbolizer;
  const auto are_estimates = [](const explorer::Run& run) {
    return std::ranges::all_of(run.units, [](const Unit& of) { return of.kind != Unit::Class || of.reconstructed; });
  };
  const explorer::Run whole = run_of(job_of(2), symbolizer, Request()),
                      thinned = run_of(job_of(2, {8, 3}), symbolizer, Request());
  const std::string told = "from iteration 8 on the log keeps one of 2 iterations, at the end one of 8";
  EXPECT_EQ(0, lacks_with(whole, told));
  EXPECT_EQ(static_cast<std::int64_t>(thinned.loops.size()), lacks_with(thinned, told));
  EXPECT_TRUE(are_estimates(thinned));
}

TEST(Scale, what_many_ranks_lack_is_told_where_it_is_missing) {
  const explorer::Run run = shown(many);
  ASSERT_FALSE(run.loops.empty());
  EXPECT_GE(lacks_with(run, "call paths are shown of 64 of "), 1);
  EXPECT_GE(lacks_with(run, "call paths of single iterations are reconstructed on 64 of "), 1);
  for (const Lack& lack : run.lacks)
    if (lack.text.find(" of 64 of ") != std::string::npos || lack.text.find(" on 64 of ") != std::string::npos) {
      const bool is_of_curves = lack.text.find("are shown of") != std::string::npos;
      EXPECT_EQ(is_of_curves ? "iterations" : "trees", lack.view) << lack.text;
    }
}

TEST(Scale, rows_of_maps_that_are_put_together_are_told) {
  EXPECT_EQ(0, lacks_with(shown(many), "in each row of the map"));
  EXPECT_GE(lacks_with(shown(many, 1000), "2 threads are put together in each row of the map"), 1);
}

TEST(Scale, metrics_that_were_asked_for_take_room_at_each_call_path) {
  analysis::TreeNode node;
  EXPECT_EQ(0U, metrics_at(node, 3)) << "it has nothing";
  node.exclusive_s = 1;
  EXPECT_EQ(metrics_at(node, 0) + 3, metrics_at(node, 3));
  const std::size_t user = metrics_at(node, 0);
  node.kind = run::PathKind::Mpi;
  EXPECT_GT(metrics_at(node, 0), user);
}

TEST(Scale, parts_of_loops_are_of_all_ranks_together_where_the_file_is_small) {
  const explorer::Run small = shown(many, 1000), large = shown(many);
  EXPECT_EQ(0, lacks_with(large, "for all ranks together only"));
  EXPECT_EQ(static_cast<std::int64_t>(small.loops.size()), lacks_with(small, "for all ranks together only"));
  for (const Cells& row : small.cells) EXPECT_EQ(0U, row.unit);
  EXPECT_TRUE(std::ranges::any_of(large.cells, [](const Cells& row) { return row.unit > 0; }));
}

/// Each rank has the same, so what some of them lack shows in the sum.
TEST(Scale, classes_are_of_all_ranks) {
  const explorer::Run small = shown(few), large = shown(many);
  ASSERT_EQ(small.units.size(), large.units.size());
  std::size_t classes = 0;
  for (std::uint32_t unit = 1; unit < large.units.size(); ++unit) {
    if (large.units[unit].kind != Unit::Class) continue;
    ++classes;
    SCOPED_TRACE(large.units[unit].name);
    EXPECT_TRUE(large.units[unit].has_values);
    EXPECT_EQ(small.units[unit].name, large.units[unit].name);
    for (const char* metric : {"mpi", "user", "wall"}) {
      const double each = sum_of(small, unit, metric) / few;
      EXPECT_NEAR(each, sum_of(large, unit, metric) / many, 1e-9 * std::abs(each) + 1e-15) << metric;
    }
  }
  EXPECT_GT(classes, 0U);
}

TEST(Scale, single_iterations_have_values_on_ranks_that_are_not_reconstructed) {
  const explorer::Run run = shown(many);
  std::size_t iterations = 0;
  for (std::uint32_t unit = 1; unit < run.units.size(); ++unit) {
    if (run.units[unit].kind != Unit::Iteration) continue;
    ++iterations;
    ASSERT_TRUE(run.units[unit].by_place);
    std::vector<double> time(run.places.size());
    for (const Cells& row : run.cells)
      if (row.unit == unit && run.metrics[row.metric].unit == "s")
        for (std::size_t place = 0; place < time.size(); ++place) time[place] += row.values[place];
    for (std::size_t place = 0; place < time.size(); ++place) EXPECT_GT(time[place], 0) << place;
  }
  EXPECT_GT(iterations, 0U);
}

TEST(Scale, single_iterations_are_sixteen_of_any_job) {
  for (const explorer::Run& run : {shown(few), shown(many), shown(many, Request().bytes, 0)})
    for (std::size_t loop = 0; loop < run.loops.size(); ++loop) {
      const auto count = std::ranges::count_if(run.units, [&](const Unit& unit) {
        return unit.kind == Unit::Iteration && unit.loop == static_cast<std::int32_t>(loop);
      });
      EXPECT_EQ(std::min<std::int64_t>(16, run.loops[loop].iterations), count) << run.loops[loop].name;
    }
}

/// Each rank has the same, so an estimate from 64 of them is what all of them have.
TEST(Scale, what_takes_too_long_on_all_ranks_is_estimated_from_some) {
  const explorer::Run exact = shown(many), run = shown(many, Request().bytes, 0);
  EXPECT_EQ(static_cast<std::int64_t>(run.loops.size()),
            lacks_with(run, "call paths of classes and of single iterations are of all ranks together only"));
  EXPECT_EQ(0, lacks_with(exact, "estimated from 64 of"));
  ASSERT_EQ(exact.units.size(), run.units.size());
  std::size_t classes = 0, iterations = 0;
  for (std::uint32_t number = 1; number < run.units.size(); ++number) {
    const Unit& unit = run.units[number];
    SCOPED_TRACE(unit.name);
    EXPECT_TRUE(unit.has_values);
    EXPECT_TRUE(unit.reconstructed);
    EXPECT_FALSE(unit.by_place);
    const double count = static_cast<double>(unit.count) * many;
    EXPECT_NEAR(count * unit.mpi_s, sum_of(run, number, "mpi"), 1e-6 * count * unit.mpi_s);
    if (unit.user_s > 0) {
      EXPECT_NEAR(count * unit.user_s, sum_of(run, number, "user"), 1e-6 * count * unit.user_s);
    }
    if (unit.kind == Unit::Iteration) ++iterations;
    if (unit.kind != Unit::Class) continue;
    ++classes;
    for (const Metric& metric : exact.metrics) {
      const double wanted = sum_of(exact, number, metric.name);
      EXPECT_NEAR(wanted, sum_of(run, number, metric.name), 1e-6 * std::abs(wanted) + 1e-15) << metric.name;
    }
  }
  EXPECT_GT(classes, 0U);
  EXPECT_GT(iterations, 0U);
  for (const Cells& row : run.cells) EXPECT_EQ(0U, row.unit);
}

TEST(Scale, the_file_does_not_depend_on_the_number_of_threads) {
  const auto sections = [](const char* threads) {
    setenv(experiment::threads_variable, threads, 1);
    const explorer::Run run = shown(many);
    unsetenv(experiment::threads_variable);
    return head_section(run) + sums_section(run) + cells_section(run) + series_section(run) + maps_section(run);
  };
  const std::string one = sections("1");
  EXPECT_EQ(one, sections("4"));
  EXPECT_EQ(one, sections("13"));
}

TEST(Scale, curves_of_whole_iterations_are_of_all_ranks) {
  const explorer::Run small = shown(few), large = shown(many);
  ASSERT_EQ(small.loops.size(), large.loops.size());
  for (std::size_t loop = 0; loop < large.loops.size(); ++loop) {
    EXPECT_EQ(small.loops[loop].locations.size() * many, large.loops[loop].locations.size() * few);
    ASSERT_FALSE(large.loops[loop].curves.empty());
    const Curves &a = small.loops[loop].curves[0], &b = large.loops[loop].curves[0];
    ASSERT_EQ(a.median.size(), b.median.size());
    for (std::size_t bin = 0; bin < a.median.size(); ++bin) {
      EXPECT_EQ(std::isnan(a.median[bin]), std::isnan(b.median[bin]));
      if (std::isnan(a.median[bin])) continue;
      EXPECT_FLOAT_EQ(a.median[bin], b.median[bin]);
    }
  }
}

}  // namespace
}  // namespace refrain::explorer

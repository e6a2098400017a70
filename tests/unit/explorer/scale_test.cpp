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
std::shared_ptr<const experiment::Experiment> job_of(std::int32_t ranks) {
  const auto golden = experiment::Experiment::open(fs::path(GOLDEN) / "profile-1.9");
  const experiment::RankHandle first = golden->rank(0, experiment::Depth::Whole);
  experiment::WholeExperiment whole{golden->directory(), golden->manifest(), {}};
  static_cast<experiment::ProfileDefinitions&>(whole.profile) = golden->definitions();
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    experiment::Rank& copy = whole.profile.ranks.emplace_back(*first);
    copy.rank = rank;
    copy.locations.resize(1);
    copy.locations[0].rank = rank;
  }
  return experiment::Experiment::of(std::move(whole));
}

explorer::Run shown(std::int32_t ranks) {
  symbols::Symbolizer symbolizer;
  return run_of(job_of(ranks), symbolizer, {});
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
    EXPECT_EQ(small.loops[loop].places * many, large.loops[loop].places * few);
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

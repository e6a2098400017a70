// What is made of experiments of every version of the file format.
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "offline/explorer/from_experiment.hpp"
#include "offline/explorer/sections.hpp"

namespace refrain::explorer {
namespace {

namespace fs = std::filesystem;
using ByPath = std::map<std::vector<std::string>, double>;

std::vector<fs::path> golden() {
  std::set<fs::path> found;
  for (const auto& entry : fs::directory_iterator(GOLDEN)) found.insert(entry.path());
  return {found.begin(), found.end()};
}

/// The metric and those below it that do not overlap.
std::set<std::uint32_t> parts_of(const explorer::Run& run, const std::string& name) {
  std::set<std::uint32_t> parts;
  for (std::uint32_t m = 0; m < run.metrics.size(); ++m) {
    const Metric& metric = run.metrics[m];
    const bool is_below = metric.parent >= 0 && parts.contains(static_cast<std::uint32_t>(metric.parent));
    if (metric.name == name || (is_below && !metric.overlaps)) parts.insert(m);
  }
  return parts;
}

ByPath values_of(const explorer::Run& run, std::uint32_t unit) {
  std::vector<std::vector<std::string>> paths;
  for (const Node& node : run.nodes) {
    paths.push_back(node.parent < 0 ? std::vector<std::string>() : paths[static_cast<std::size_t>(node.parent)]);
    if (node.parent >= 0) paths.back().push_back(node.name);
  }
  ByPath values;
  const auto parts = parts_of(run, "wall");
  for (const Sums& row : run.sums)
    if (row.kind == Sums::Values && row.unit == unit && parts.contains(row.metric))
      for (std::size_t i = 0; i < row.nodes.size(); ++i)
        if (row.nodes[i] != 0) values[paths[row.nodes[i]]] += row.values[i];
  return values;
}

TEST(Golden, values_are_those_of_the_call_tree) {
  for (const fs::path& directory : golden()) {
    SCOPED_TRACE(directory.filename().string());
    const auto experiment = experiment::Experiment::open(directory);
    symbols::Symbolizer symbolizer;
    const explorer::Run run = run_of(experiment, symbolizer, {});
    const analysis::CallTree tree = analysis::build_call_tree(*experiment, symbolizer, report::tree_options({}, {}));
    ByPath want;
    for (std::uint32_t node = 1; node < tree.nodes.size(); ++node)
      if (tree.nodes[node].exclusive_s != 0) want[path_to(tree, node)] += tree.nodes[node].exclusive_s;
    const ByPath got = values_of(run, 0);
    for (const auto& [path, seconds] : want) {
      ASSERT_TRUE(got.contains(path)) << path.back();
      EXPECT_NEAR(seconds, got.at(path), 1e-9 * std::abs(seconds) + 1e-12) << path.back();
    }
    for (const auto& [path, seconds] : got)
      EXPECT_TRUE(std::abs(seconds) < 1e-12 || want.contains(path)) << path.back();
  }
}

TEST(Golden, nodes_are_in_preorder_and_rows_ascend) {
  for (const fs::path& directory : golden()) {
    SCOPED_TRACE(directory.filename().string());
    symbols::Symbolizer symbolizer;
    const explorer::Run run = run_of(experiment::Experiment::open(directory), symbolizer, {});
    std::vector<std::int32_t> open;
    for (std::size_t i = 0; i < run.nodes.size(); ++i) {
      while (!open.empty() && open.back() != run.nodes[i].parent) open.pop_back();
      EXPECT_EQ(i == 0, open.empty()) << "the parent of node " << i << " is not the one that was open";
      open.push_back(static_cast<std::int32_t>(i));
    }
    for (std::size_t i = 1; i < run.cells.size(); ++i) {
      const Cells &a = run.cells[i - 1], &b = run.cells[i];
      EXPECT_LT(std::tuple(a.unit, a.metric, a.node), std::tuple(b.unit, b.metric, b.node));
    }
    for (const Cells& row : run.cells) EXPECT_EQ(run.places.size(), row.values.size());
    EXPECT_FALSE(head_section(run).empty());
  }
}

TEST(Golden, classes_have_every_iteration_once) {
  for (const fs::path& directory : golden()) {
    SCOPED_TRACE(directory.filename().string());
    symbols::Symbolizer symbolizer;
    const explorer::Run run = run_of(experiment::Experiment::open(directory), symbolizer, {});
    for (std::size_t loop = 0; loop < run.loops.size(); ++loop) {
      std::int64_t count = 0;
      for (const Unit& unit : run.units)
        if (unit.kind == Unit::Class && unit.loop == static_cast<std::int32_t>(loop)) count += unit.count;
      EXPECT_LE(count, run.loops[loop].iterations);
      EXPECT_GT(count, 0);
      for (const Curves& curves : run.loops[loop].curves)
        for (std::size_t bin = 0; bin < curves.median.size(); ++bin)
          if (!std::isnan(curves.median[bin])) {
            EXPECT_LE(curves.least[bin], curves.median[bin]);
            EXPECT_LE(curves.median[bin], curves.greatest[bin]);
          }
    }
  }
}

TEST(Golden, each_metric_has_one_curve_and_time_comes_first) {
  for (const fs::path& directory : golden()) {
    SCOPED_TRACE(directory.filename().string());
    symbols::Symbolizer symbolizer;
    const explorer::Run run = run_of(experiment::Experiment::open(directory), symbolizer, {});
    for (const Loop& loop : run.loops) {
      std::set<std::string> titles;
      for (const Curves& curves : loop.curves) {
        const bool is_new = curves.node || titles.insert(curves.metric).second;
        EXPECT_TRUE(is_new) << curves.metric;
      }
      EXPECT_EQ("Time", loop.curves.at(0).metric);
      EXPECT_LE(titles.size(), 16U);
      EXPECT_LE(loop.maps.size(), 3U);
      for (std::size_t m = 0; m < loop.maps.size(); ++m) EXPECT_EQ(loop.curves.at(m).metric, loop.maps[m].metric);
    }
  }
}

}  // namespace
}  // namespace refrain::explorer

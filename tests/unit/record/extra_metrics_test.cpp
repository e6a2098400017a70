// Metrics that the user has asked for, on ranks whose machines can count different ones.

#include <gtest/gtest.h>
#include <map>
#include <string>

#include "tests/unit/analysis/tree_of.hpp"

namespace refrain::testing {
namespace {

using format::NodeKind;
using Columns = std::vector<std::int64_t>;

/// A rank that has these metrics, their totals, and values of one MPI function.
experiment::Rank rank_of(std::int32_t number, const std::vector<std::string>& metrics, Columns totals, Columns values) {
  experiment::Rank rank;
  rank.rank = number;
  for (const auto& name : metrics) rank.extra_metrics.push_back({name, "1"});
  experiment::Unit unit;
  unit.extra.totals = std::move(totals);
  unit.extra.values = {{1, 0}};
  unit.extra.columns = std::move(values);
  rank.locations.emplace_back().units.push_back(std::move(unit));
  return rank;
}

TEST(ExtraMetrics, of_ranks_with_other_lists_are_put_together_by_name) {
  experiment::Profile profile;
  profile.ranks_expected = 2;
  profile.regions = {"MPI_Send"};
  profile.paths = {{0, NodeKind::Root, -1, 0}, {0, NodeKind::Region, -1, 0}};
  profile.ranks = {rank_of(0, {"a", "b"}, {10, 20}, {1, 2}), rank_of(1, {"c", "b"}, {300, 200}, {30, 40})};
  analysis::Symbolizer symbolizer;
  const analysis::CallTree tree = analysis::build_call_tree(profile, symbolizer);
  std::map<std::string, Columns> found;
  for (std::size_t m = 0; m < tree.extra_metrics.size(); ++m) {
    std::int64_t send = 0;
    for (const auto& node : tree.nodes)
      if (node.name == "MPI_Send") send += node.exclusive.asked_for(m);
    found[tree.extra_metrics[m].name] = {tree.totals.counts.asked_for(m), send, tree.locations[0].counts.asked_for(m),
                                         tree.locations[1].counts.asked_for(m)};
  }
  EXPECT_EQ(found, (std::map<std::string, Columns>{
                       {"a", {10, 1, 10, 0}}, {"b", {220, 42, 20, 200}}, {"c", {300, 30, 0, 300}}}));
}

}  // namespace
}  // namespace refrain::testing

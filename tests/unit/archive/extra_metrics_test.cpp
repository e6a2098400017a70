// Metrics that the user has asked for, of ranks whose machines can count different ones.

#include <gtest/gtest.h>
#include <map>
#include <string>

#include "offline/experiment/profile_merger.hpp"

namespace refrain::testing {
namespace {

using format::NodeKind;
using Columns = std::vector<std::int64_t>;

/// A part with one rank that has these metrics, their totals, and values of one MPI function.
experiment::Profile part_of(std::int32_t rank, const std::vector<std::string>& metrics, Columns totals,
                            Columns values) {
  experiment::Profile part;
  part.ranks_expected = 2;
  part.regions = {"MPI_Send"};
  part.paths = {{0, NodeKind::Root, -1, 0}, {0, NodeKind::Region, -1, 0}};
  for (const auto& name : metrics) part.extra_metrics.push_back({name, "1"});
  experiment::Unit unit;
  unit.extra.totals = std::move(totals);
  unit.extra.values = {{1, 0}};
  unit.extra.columns = std::move(values);
  experiment::Location location;
  location.units.push_back(std::move(unit));
  experiment::Rank of;
  of.rank = rank;
  of.locations.push_back(std::move(location));
  part.ranks.push_back(std::move(of));
  return part;
}

/// Total, and value of the function, by the name of the metric.
std::map<std::string, Columns> metrics_of(const experiment::Profile& profile, std::size_t rank) {
  const experiment::ExtraValues& extra = profile.ranks[rank].locations[0].units[0].extra;
  std::map<std::string, Columns> metrics;
  for (std::size_t m = 0; m < profile.extra_metrics.size(); ++m)
    metrics[profile.extra_metrics[m].name] = {extra.total(m), extra.of(extra.values[0], m)};
  return metrics;
}

TEST(ExtraMetrics, of_parts_are_put_together_by_name) {
  experiment::ProfileMerger merger;
  merger.add(part_of(0, {"a", "b"}, {10, 20}, {1, 2}), "part-0");
  merger.add(part_of(1, {"c", "b"}, {300, 200}, {30, 40}), "part-1");
  const experiment::Profile profile = merger.take();
  EXPECT_EQ(profile.extra_metrics.size(), 3u);
  EXPECT_EQ(metrics_of(profile, 0), (std::map<std::string, Columns>{{"a", {10, 1}}, {"b", {20, 2}}, {"c", {0, 0}}}));
  EXPECT_EQ(metrics_of(profile, 1),
            (std::map<std::string, Columns>{{"a", {0, 0}}, {"b", {200, 40}}, {"c", {300, 30}}}));
}

}  // namespace
}  // namespace refrain::testing

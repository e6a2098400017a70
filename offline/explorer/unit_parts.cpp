#include "offline/explorer/unit_parts.hpp"

#include <cmath>
#include <span>

namespace refrain::explorer {
namespace {

void add_iteration(const LoopInput& input, const run::OpenLoop& open, std::int64_t i, std::int32_t cluster,
                   std::span<const std::int64_t> row, std::size_t unit, std::vector<ClusterMixture::Value>& to) {
  const run::IterationProfiles& profiles = *open.profiles;
  profiles.with_rows(profiles.unit_of(i, cluster, row), profiles.is_exact(cluster), [&](const run::Leaf& leaf) {
    for (const OwnValue& own : input.own.of(leaf)) to.push_back({unit, own});
  });
}

}  // namespace

PlaceParts parts_of(const LoopInput& input, const UnitPlan& plan, std::size_t number, const run::OpenLoop& open) {
  PlaceParts parts;
  parts.number = number;
  const run::IterationProfiles& profiles = *open.profiles;
  const bool is_chosen = plan.is_chosen(number);
  std::vector<run::IterationValue> curves;
  if (is_chosen) {
    parts.curves.resize(plan.curves.nodes.size(), BinnedPlace(plan.curves.bins));
    for (const auto& selection : plan.curves.selections)
      curves.push_back(value_of_callpaths(profiles, selection, "wall"));
  }
  const std::size_t clusters = open.loop().clusters.size();
  const bool reads_classes = plan.reads_classes(number), reads_single = plan.reads_single(number);
  parts.single.resize(plan.single.size());
  ClusterMixture mixture(clusters, plan.units());
  std::vector<ClusterMixture::Value> exact;
  const auto wall = value_of_metric(profiles, "wall"), mpi = value_of_metric(profiles, "mpi"),
             user = run::value_of_metric(profiles, "user");
  const analysis::JobClasses& classes = plan.iterations.classes;
  const std::int64_t width = plan.iterations.width;
  auto next = plan.single.begin();
  for_each_present(open, [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
    if (is_chosen && i % plan.curves.stride == 0)
      for (std::size_t n = 0; n < curves.size(); ++n)
        if (curves[n]) parts.curves[n].add(plan.curves.bins.of(i), curves[n](i, cluster, row));
    if (!reads_classes && !reads_single) return;
    const bool has_cluster = cluster >= 0 && static_cast<std::size_t>(cluster) < clusters;
    const auto value = [&](const run::IterationValue& of) { return of ? of(i, cluster, row) : NAN; };
    if (has_cluster) mixture.add(cluster);
    const auto group = static_cast<std::size_t>(width == 1 ? i : i / width);
    if (has_cluster && reads_classes && group < classes.of.size())
      mixture.put(cluster, classes.of[group], value(mpi), value(user));
    while (next != plan.single.end() && next->first < i) ++next;
    if (!reads_single || next == plan.single.end() || next->first != i) return;
    parts.single[static_cast<std::size_t>(next - plan.single.begin())].add(value(wall), value(mpi), value(user));
    const bool needs_no_model = profiles.cluster_unit(cluster) == nullptr || profiles.is_exact(cluster);
    if (is_chosen || needs_no_model || !has_cluster) add_iteration(input, open, i, cluster, row, next->second, exact);
    else mixture.put(cluster, next->second, value(mpi), value(user));
  });
  const auto values_of = [&](std::size_t cluster) {
    std::vector<OwnValue> values;
    if (const experiment::Unit* unit = profiles.cluster_unit(static_cast<std::int32_t>(cluster)))
      profiles.with_rows(*unit, true, [&](const run::Leaf& leaf) { values = input.own.of(leaf); });
    return values;
  };
  parts.values = mixture.values(values_of, plan.part_of, input.nodes.size());
  parts.values.values.insert(parts.values.values.end(), exact.begin(), exact.end());
  return parts;
}

}  // namespace refrain::explorer

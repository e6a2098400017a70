#include "offline/explorer/cluster_mixture.hpp"

#include <algorithm>
#include <cmath>

namespace refrain::explorer {

void ClusterMixture::put(std::int32_t cluster, std::size_t unit, double mpi, double user) {
  ++in_unit_[static_cast<std::size_t>(cluster) * units_ + unit];
  if (std::isfinite(mpi)) exact_[unit].mpi += mpi;
  if (std::isfinite(user)) exact_[unit].user += user;
}

ClusterMixture::Result ClusterMixture::values(
    const std::function<std::vector<OwnValue>(std::size_t cluster)>& values_of, std::span<const Part> part_of,
    std::size_t nodes) const {
  // Sums have a place for each metric of the nodes that any of the clusters has.
  std::vector<std::uint32_t> row_of(nodes), nodes_here;  // one more than the row; 0: none
  std::vector<std::vector<OwnValue>> of_cluster(members_.size());
  Result result{{}, std::vector<bool>(units_)};
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const auto in_units = std::span(in_unit_).subspan(k * units_, units_);
    if (std::ranges::all_of(in_units, [](std::int64_t count) { return count == 0; })) continue;
    of_cluster[k] = values_of(k);
    for (const OwnValue& of : of_cluster[k]) {
      if (row_of[of.node] > 0) continue;
      nodes_here.push_back(of.node);
      row_of[of.node] = static_cast<std::uint32_t>(nodes_here.size());
    }
  }
  const std::size_t metrics = part_of.size();
  for (std::size_t unit = 0; unit < units_; ++unit) {
    std::vector<double> sums(nodes_here.size() * metrics);
    Times estimated;
    for (std::size_t k = 0; k < members_.size(); ++k) {
      const std::int64_t count = in_unit_[k * units_ + unit];
      if (count == 0 || of_cluster[k].empty()) continue;
      if (count < members_[k]) result.is_estimated[unit] = true;
      const double part = static_cast<double>(count) / static_cast<double>(members_[k]);
      for (const OwnValue& of : of_cluster[k]) {
        sums[(row_of[of.node] - 1) * metrics + of.metric] += part * of.value;
        if (part_of[of.metric] == Part::Mpi) estimated.mpi += part * of.value;
        if (part_of[of.metric] == Part::User) estimated.user += part * of.value;
      }
    }
    const auto factor = [](double wanted, double has) { return wanted > 0 && has > 0 ? wanted / has : 1; };
    const double scales[] = {1, factor(exact_[unit].mpi, estimated.mpi), factor(exact_[unit].user, estimated.user)};
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] == 0) continue;
      const auto metric = static_cast<std::uint32_t>(i % metrics);
      const double scale = scales[static_cast<std::size_t>(part_of[metric])];
      result.values.push_back({unit, {metric, nodes_here[i / metrics], scale * sums[i]}});
    }
  }
  return result;
}

}  // namespace refrain::explorer

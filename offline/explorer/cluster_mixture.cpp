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
  // There is a sum for each pair of node and metric that any of the clusters has.
  const std::size_t metrics = part_of.size();
  std::vector<std::uint32_t> row_of(nodes * metrics);  // index of the row + 1; 0: none
  std::vector<OwnValue> rows;                          // nodes and metrics of the rows
  std::vector<std::vector<OwnValue>> of_cluster(members_.size());
  Result result{{}, std::vector<bool>(units_)};
  for (std::size_t k = 0; k < members_.size(); ++k) {
    const auto in_units = std::span(in_unit_).subspan(k * units_, units_);
    if (std::ranges::all_of(in_units, [](std::int64_t count) { return count == 0; })) continue;
    of_cluster[k] = values_of(k);
    for (const OwnValue& of : of_cluster[k]) {
      std::uint32_t& row = row_of[of.node * metrics + of.metric];
      if (row > 0) continue;
      rows.push_back({of.metric, of.node, 0});
      row = static_cast<std::uint32_t>(rows.size());
    }
  }
  std::vector<double> sums;
  for (std::size_t unit = 0; unit < units_; ++unit) {
    sums.assign(rows.size(), 0);
    Times estimated;
    for (std::size_t k = 0; k < members_.size(); ++k) {
      const std::int64_t count = in_unit_[k * units_ + unit];
      if (count == 0 || of_cluster[k].empty()) continue;
      if (count < members_[k]) result.is_estimated[unit] = true;
      const double part = static_cast<double>(count) / static_cast<double>(members_[k]);
      for (const OwnValue& of : of_cluster[k]) {
        sums[row_of[of.node * metrics + of.metric] - 1] += part * of.value;
        if (part_of[of.metric] == Part::Mpi) estimated.mpi += part * of.value;
        if (part_of[of.metric] == Part::User) estimated.user += part * of.value;
      }
    }
    const auto factor = [](double wanted, double has) { return wanted > 0 && has > 0 ? wanted / has : 1; };
    const double scales[] = {1, factor(exact_[unit].mpi, estimated.mpi), factor(exact_[unit].user, estimated.user)};
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] == 0) continue;
      const double scale = scales[static_cast<std::size_t>(part_of[rows[i].metric])];
      result.values.push_back({unit, {rows[i].metric, rows[i].node, scale * sums[i]}});
    }
  }
  return result;
}

}  // namespace refrain::explorer

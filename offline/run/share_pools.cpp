#include "offline/run/share_pools.hpp"

#include <algorithm>
#include <cmath>

namespace refrain::run {

double SharePools::Pool::error_of(double share, const ShareSpread& spread) const {
  if (samples <= 0) return 1;
  const double p = std::clamp(share, 0.0, 1.0);
  const double chance = p * (1 - p) / samples;
  double squared = std::max(chance, 1 / (samples * samples)) + spread.variance_of(p);
  for (std::size_t first = 0; first < spread.quarters.size(); first += 4) {
    double between = 0;
    for (std::size_t q = first; q < first + 4; ++q) {
      const double apart = spread.quarters[q];
      between += apart * apart / 4;
    }
    squared = std::max(squared, between - 3 * chance);  // 3 * chance: the squared distance of a quarter by chance
  }
  return std::sqrt(squared);
}

double SharePools::Pool::on_cpu(const Iteration& of) const {
  return of.least_on_cpu + cpu_part * std::max(0.0, of.most_on_cpu - of.least_on_cpu);
}

SharePools::Place SharePools::place_of(const Iteration& of) const {
  const auto& [group, exclusion] = clusters[static_cast<std::size_t>(of.cluster)];
  return {groups[group].splits.leaf_of(of.variables), exclusion};
}

const SharePools::Pool* SharePools::pool_of(const Iteration& of) const {
  if (!has(of.cluster)) return nullptr;
  const Group& group = groups[clusters[static_cast<std::size_t>(of.cluster)].group];
  const Place place = place_of(of);
  if (!of.kept && !group.pool_of_part.empty())
    if (const auto own = group.pool_of_part.find({of.cluster, place}); own != group.pool_of_part.end())
      return &pools[own->second];
  const auto pool = group.pool_of_place.find(place);
  return &pools[pool == group.pool_of_place.end() ? group.pool_of_rest : pool->second];
}

bool SharePools::is_sound(std::size_t paths) const {
  const auto is_pool = [&](const auto& of) { return of.second < pools.size(); };
  for (const OfCluster& of : clusters)
    if (of.group >= groups.size()) return false;
  for (const Group& of : groups)
    if (!of.splits.is_sound() || of.pool_of_rest >= pools.size() || !std::ranges::all_of(of.pool_of_place, is_pool) ||
        !std::ranges::all_of(of.pool_of_part, is_pool))
      return false;
  for (std::size_t i = 0; i < pools.size(); ++i)
    if (pools[i].number != i ||
        !std::ranges::all_of(pools[i].shares, [&](const ShareTree::Share& of) { return of.path < paths; }))
      return false;
  return true;
}

}  // namespace refrain::run

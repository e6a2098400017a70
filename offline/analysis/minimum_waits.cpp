#include "offline/analysis/minimum_waits.hpp"

#include <algorithm>

namespace refrain::analysis {

using waits::ShortestOf;

MinimumWaits::MinimumWaits(const experiment::ProfileDefinitions& definitions) : definitions_(definitions) {
  for (const std::string& region : definitions.regions) kinds_of_region_.push_back(waits::kinds_of(region));
}

/// Empty: who waits in these calls is not known.
std::span<const waits::WaitKind> MinimumWaits::kinds_of(std::uint32_t path) const {
  const experiment::CallPath& of = definitions_.paths[path];
  if (of.kind != experiment::NodeKind::Region || of.offset >= kinds_of_region_.size()) return {};
  return kinds_of_region_[of.offset];
}

/// Calls use(path, kind, durations, seconds per tick) for what the rank has of functions in which it is known who
/// waits.
template <class Use>
void MinimumWaits::for_each_known(const experiment::Rank& rank, const Use& use) const {
  const double seconds_per_tick = 1 / rank.ticks_per_second;
  for (const experiment::Location& location : rank.locations)
    for (const experiment::CallDurations& of : location.durations)
      if (!kinds_of(of.path).empty())
        use(of.path, Kind{definitions_.paths[of.path].offset, of.of}, of.durations, seconds_per_tick);
}

MinimumWaits::Groups MinimumWaits::groups_of(const experiment::Rank& rank) const {
  Groups groups;
  Floors of_process;
  for_each_known(rank, [&](std::uint32_t path, const Kind& kind, const waits::Durations& of, double seconds_per_tick) {
    Group& group = groups[{path, kind}];
    group.is = waits::kind_of(kinds_of_region_[kind.first], kind.second);
    group.calls += waits::Calls(of, seconds_per_tick);
    of_process[kind].add(of, seconds_per_tick);
  });
  for (auto& [key, group] : groups)
    if (group.is && group.is->shortest == ShortestOf::of_process) {
      const waits::Floor floor = of_process[key.second].floor();
      group.by_process = waits::estimate(group.calls, floor, floor, group.is->long_by_of(key.second.second));
    }
  return groups;
}

void MinimumWaits::add(const experiment::Rank& rank) {
  floors_.clear();
  for_each_known(rank, [&](std::uint32_t, const Kind& kind, const waits::Durations& of, double seconds_per_tick) {
    of_all_[kind].add(of, seconds_per_tick);
  });
  for (const auto& [key, group] : groups_of(rank)) {
    Group& sum = groups_[key];
    sum.is = group.is;
    sum.calls += group.calls;
    sum.by_process += group.by_process;
  }
}

const waits::Floor& MinimumWaits::floor_of_all(const Kind& kind) const {
  const auto at = floors_.find(kind);
  return at != floors_.end() ? at->second : floors_.emplace(kind, of_all_.at(kind).floor()).first->second;
}

std::vector<MinimumWaits::OfPath> MinimumWaits::paths_of(const Groups& groups) const {
  std::vector<OfPath> paths;
  for (const auto& [key, group] : groups) {
    if (paths.empty() || paths.back().path != key.first) paths.emplace_back().path = key.first;
    OfPath& path = paths.back();
    path.calls += group.calls.number;
    path.time_s += group.calls.time_s;
    if (!group.is) continue;
    const waits::Floor& floor = floor_of_all(key.second);
    waits::Estimate estimate = waits::estimate(group.calls, floor, floor, group.is->long_by_of(key.second.second));
    if (group.is->shortest == ShortestOf::of_process) {
      const double most = std::max(estimate.most_s, group.by_process.most_s);
      estimate = group.by_process;
      estimate.most_s = most;
    }
    path.estimate += estimate;
    path.kinds_s[group.is->name] += estimate.seconds;
  }
  return paths;
}

std::vector<MinimumWaits::OfPath> MinimumWaits::paths() const { return paths_of(groups_); }

std::vector<MinimumWaits::OfPath> MinimumWaits::of_rank(const experiment::Rank& rank) const {
  return paths_of(groups_of(rank));
}

}  // namespace refrain::analysis

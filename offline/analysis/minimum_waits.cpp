#include "offline/analysis/minimum_waits.hpp"

#include <algorithm>
#include <cmath>

#include "offline/run/totals.hpp"

namespace refrain::analysis {

using waits::ShortestOf;

MinimumWaits::MinimumWaits(const experiment::ProfileDefinitions& definitions) : definitions_(definitions) {
  for (const std::string& region : definitions.regions) kinds_of_region_.push_back(waits::kinds_of(region));
}

/// Empty: no kind of waiting is known for these calls.
std::span<const waits::WaitKind> MinimumWaits::kinds_of(std::uint32_t path) const {
  const experiment::CallPath& of = definitions_.paths[path];
  if (of.kind != experiment::NodeKind::Region || of.offset >= kinds_of_region_.size()) return {};
  return kinds_of_region_[of.offset];
}

/// Calls use(path, kind, durations, seconds per tick) for the rank's calls of functions with a known kind of waiting.
template <class Use>
void MinimumWaits::for_each_known(const experiment::Rank& rank, const Use& use) const {
  const double seconds_per_tick = run::seconds_of(rank, 1);
  for (const experiment::Location& location : rank.locations)
    for (const experiment::CallDurations& of : location.durations)
      if (!kinds_of(of.path).empty())
        use(of.path, Kind{definitions_.paths[of.path].offset, of.bin}, of.durations, seconds_per_tick);
}

namespace {

/// A rank's time in MPI.
struct InMpi {
  double seconds = 0, off_processor_s = 0;
  double samples = 0;
};

/// Samples come at equal distances of CPU time. Without samples, the time on a CPU is not known.
InMpi in_mpi(const experiment::Rank& rank) {
  constexpr double ns = 1e-9;
  InMpi all;
  for (const experiment::Location& location : rank.locations) {
    const format::UnitTotals totals = run::sums_of_run(location);
    const double seconds = run::seconds_of(rank, static_cast<double>(totals.mpi));
    if (totals.ticks_mpi <= 0) continue;
    all.seconds += seconds;
    all.off_processor_s += std::max(seconds - static_cast<double>(totals.weight_mpi_ns) * ns, 0.0);
    all.samples += static_cast<double>(totals.ticks_mpi);
  }
  return all;
}

/// The part of the time in MPI without a processor, as far as it is more than chance of sampling.
double part_off_processor(const InMpi& of) {
  constexpr double deviations = 2;
  if (!(of.seconds > 0) || !(of.samples > 0)) return 0;
  return std::max(of.off_processor_s / of.seconds - deviations / std::sqrt(of.samples), 0.0);
}

}  // namespace

waits::Estimate MinimumWaits::estimate_of(const Group& group, const Kind& kind, const waits::Floor& own,
                                          const waits::Floor& of_all, bool are_all_there, double off_processor) {
  return waits::estimate(group.calls, own, of_all,
                         {.long_by = group.is->long_by_of(kind.second),
                          .has_one_without_waiting = group.is->has_one_without_waiting() && are_all_there,
                          .off_processor = off_processor,
                          .slowest_s = waits::slowest_of(kind.second)});
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
      group.by_process = estimate_of(group, key.second, floor, floor, true, 0);
    }
  return groups;
}

void MinimumWaits::add(const experiment::Rank& rank) {
  floors_.clear();
  ++ranks_;
  const InMpi of_rank = in_mpi(rank);
  most_off_processor_ = std::max(most_off_processor_, part_off_processor(of_rank));
  mpi_s_ += of_rank.seconds;
  off_processor_s_ += of_rank.off_processor_s;
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

/// `off_processor`: part of these processes' time in MPI without a processor; that of the others, for which their
/// operations wait, is added.
std::vector<MinimumWaits::OfPath> MinimumWaits::paths_of(const Groups& groups, double off_processor) const {
  const double of_either = std::min(off_processor + most_off_processor_, 1.0);
  std::vector<OfPath> paths;
  for (const auto& [key, group] : groups) {
    if (paths.empty() || paths.back().path != key.first) paths.emplace_back().path = key.first;
    OfPath& path = paths.back();
    path.calls += group.calls.number;
    path.time_s += group.calls.time_s;
    if (!group.is) continue;
    if (group.is->long_by == waits::LongBy::polling) {
      path.polls += group.calls.number;
      path.polls_s += group.calls.time_s;
    }
    const waits::Floor& floor = floor_of_all(key.second);
    waits::Estimate estimate = estimate_of(group, key.second, floor, floor, are_all_there(), of_either);
    if (group.is->shortest == ShortestOf::of_process) {
      const double most = std::max(estimate.most_s, group.by_process.most_s),
                   most_by_shortest = std::max(estimate.most_by_shortest_s, group.by_process.most_by_shortest_s);
      estimate = group.by_process;
      estimate.most_s = most;
      estimate.most_by_shortest_s = most_by_shortest;
      estimate.least_s *= 1 - of_either;
    }
    path.estimate += estimate;
    path.kinds_s[group.is->name] += estimate.seconds;
  }
  return paths;
}

std::vector<MinimumWaits::OfPath> MinimumWaits::paths() const {
  return paths_of(groups_, mpi_s_ > 0 ? off_processor_s_ / mpi_s_ : 0);
}

std::vector<MinimumWaits::OfPath> MinimumWaits::of_rank(const experiment::Rank& rank) const {
  return paths_of(groups_of(rank), part_off_processor(in_mpi(rank)));
}

}  // namespace refrain::analysis

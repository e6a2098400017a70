#include "offline/report/wait_iterations.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "offline/experiment/rank_pass.hpp"
#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

using format::MetricId;
using run::IterationProfiles;

/// The waiting in one loop of one location.
class OfLoop {
 public:
  OfLoop(const IterationProfiles& profiles, CallFloors floors, const run::PathSelection* selection)
      : profiles_(profiles),
        floors_(std::move(floors)),
        selected_(select(profiles, floors_, selection)),
        values_(profiles, selected_) {}
  OfLoop(const OfLoop&) = delete;

  double of(std::int32_t cluster, std::span<const std::int64_t> row) {
    if (floors_.empty()) return NAN;
    const double floor = floor_of(cluster);
    if (std::isnan(floor)) return floor;
    const double time = profiles_.seconds(values_.mpi(MetricId::Time, cluster, row));
    return std::max(time - floor * values_.mpi(MetricId::Visits, cluster, row), 0.0);
  }

 private:
  static run::PathSelection select(const IterationProfiles& profiles, const CallFloors& floors,
                                   const run::PathSelection* wanted) {
    run::PathSelection selection;
    selection.paths.resize(profiles.profile().paths.size());
    for (const auto& [path, floor] : floors)
      if (!wanted || (path < wanted->paths.size() && wanted->paths[path])) selection.paths[path] = true;
    return selection;
  }

  /// The time of a call without waiting, as a mean over the calls of the cluster's mean iteration. NaN: the cluster is
  /// not known.
  double floor_of(std::int32_t cluster) {
    if (const auto at = by_cluster_.find(cluster); at != by_cluster_.end()) return at->second;
    double calls = 0, seconds = 0;
    for (const run::MpiCalls& of : profiles_.calls_of(cluster)) {
      if (!selected_.paths[of.path]) continue;
      calls += of.number;
      seconds += of.number * floors_.at(of.path);
    }
    return by_cluster_[cluster] = !profiles_.cluster_unit(cluster) ? NAN : calls > 0 ? seconds / calls : 0;
  }

  const IterationProfiles& profiles_;
  const CallFloors floors_;
  const run::PathSelection selected_;
  const IterationProfiles::Selected values_;
  std::map<std::int32_t, double> by_cluster_;
};

class WaitIterations final : public IterationSource {
 public:
  explicit WaitIterations(const std::shared_ptr<const experiment::Experiment>& experiment)
      : experiment_(experiment), minima_(experiment->definitions()) {
    for_each_rank(*experiment, {}, experiment::Depth::Run, [&](const experiment::Rank& rank) { minima_.add(rank); });
  }
  bool any() const { return minima_.any(); }
  run::Known known() const override { return run::Known::Reconstructed; }
  std::string origin(double share) const override {
    std::string text = "What the calls of each iteration took longer than calls of their kind do when nobody waits.";
    if (share < 1)
      text += fmt::format(" Known of {} % of the iterations; the rest has no cluster, or its ranks have no durations.",
                          percent(share, 1));
    return text;
  }
  std::string why_none() const override {
    return "of no iteration of this loop it is known: its ranks have no durations of calls, or its clusters are not "
           "known";
  }
  run::IterationValue of(const IterationProfiles& profiles, std::int32_t,
                         const run::PathSelection* selection) const override {
    const auto loop = std::make_shared<OfLoop>(profiles, floors_of(profiles.rank()), selection);
    return [loop](std::int64_t, std::int32_t cluster, std::span<const std::int64_t> row) {
      return loop->of(cluster, row);
    };
  }

 private:
  /// Holds the floors of the last rank: locations and loops of a rank follow each other.
  const CallFloors& floors_of(const experiment::Rank& rank) const {
    if (of_rank_ != rank.rank) {
      floors_ = call_floors(minima_, rank);
      of_rank_ = rank.rank;
    }
    return floors_;
  }

  const std::shared_ptr<const experiment::Experiment> experiment_;  ///< has the definitions that `minima_` refers to
  analysis::MinimumWaits minima_;
  mutable std::optional<std::int32_t> of_rank_;
  mutable CallFloors floors_;
};

}  // namespace

CallFloors call_floors(const analysis::MinimumWaits& minima, const experiment::Rank& rank) {
  CallFloors floors;
  for (const analysis::MinimumWaits::OfPath& of : minima.of_rank(rank))
    if (of.calls > 0) floors[of.path] = of.floor_s() / of.calls;
  return floors;
}

double waiting_of_cluster(const IterationProfiles& profiles, std::int32_t cluster, const CallFloors& floors) {
  if (floors.empty()) return NAN;
  double seconds = 0;
  for (const run::MpiCalls& of : profiles.calls_of(cluster))
    if (const auto floor = floors.find(of.path); floor != floors.end())
      seconds += std::max(of.seconds - of.number * floor->second, 0.0);
  return seconds;
}

std::shared_ptr<const IterationSource> wait_iterations(
    const std::shared_ptr<const experiment::Experiment>& experiment) {
  auto source = std::make_shared<const WaitIterations>(experiment);
  if (!source->any())
    throw UsageError("--metric wait: the experiment has no durations of calls, which tell this (REFRAIN_WAIT_STATES)");
  return source;
}

}  // namespace refrain::report

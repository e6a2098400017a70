#pragma once
/// Waiting of single iterations and of clusters, from durations of calls: how much longer their calls took than calls
/// of that kind take when nobody waits. Time and number of the calls are those of the iteration or the cluster.

#include <map>
#include <memory>

#include "offline/analysis/minimum_waits.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/report/iteration_source.hpp"
#include "offline/report/request.hpp"

namespace refrain::report {

inline constexpr const char* wait_metric_name = "wait";

/// Seconds that a call takes without waiting, by call path, for functions in which it is known who waits. A call path
/// with calls of several sizes has one value for all: iterations with more large calls seem to have waited.
using CallFloors = std::map<std::uint32_t, double>;
/// The floors of a rank, whose durations are compared with those of all ranks.
CallFloors call_floors(const analysis::MinimumWaits& minima, const experiment::Rank& rank);

/// Waiting in a cluster, over all its iterations together, in seconds. NaN: the rank has no floors.
double waiting_of_cluster(const run::IterationProfiles& profiles, std::int32_t cluster, const CallFloors& floors);

/// Throws UsageError when the experiment has no durations of calls.
std::shared_ptr<const IterationSource> wait_iterations(const std::shared_ptr<const experiment::Experiment>& experiment);

}  // namespace refrain::report

#pragma once
/// How regions of a program scale: strong scaling, since all runs are taken to solve the same problem.

#include <string>
#include <vector>

#include "offline/analysis/efficiency.hpp"
#include "offline/database/store.hpp"

namespace refrain::database {

struct ScalingRow {
  std::int64_t processes = 0, runs = 0;
  double seconds = 0;           ///< time of a process, mean over processes and runs
  double deviation_s = 0;       ///< standard deviation of `seconds` over runs; 0 for one run
  double speedup = 1;           ///< time ratio to the fewest processes, times their number; linear: p
  double efficiency = 1;        ///< speedup / processes
  double efficiency_error = 0;  ///< standard error from the scatter of runs; 0: either size has a single run
  double lost_s = 0;            ///< extra time of all processes over that with the fewest processes
};

struct ScalingRegion {
  std::string name;
  std::vector<ScalingRow> rows;  ///< ascending by processes
};

struct Scaling {
  std::string program, version;
  std::int64_t fewest = 0;             ///< number of processes of the run that others are compared with
  std::vector<ScalingRegion> regions;  ///< regions with most time first
};

/// Scaling of the version of `run`. `wanted`: names of regions; empty: regions with at least `least_share` of a run's
/// time. Throws DatabaseError.
Scaling scaling_of(Connection& connection, const StoredRun& run, const std::vector<std::string>& wanted,
                   double least_share);

/// The runs of the version of `run`, with the efficiencies of the whole run, from the first threads of the processes. A
/// database has neither machines nor waiting by process, so serialisation and transfer are unknown. Runs without any
/// useful time are left out. Throws DatabaseError.
std::vector<analysis::SizedRun> sized_runs(Connection& connection, const StoredRun& run);

}  // namespace refrain::database

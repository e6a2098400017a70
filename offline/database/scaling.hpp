#pragma once
/// How regions of a program scale: strong scaling, as all runs solve the same problem.

#include <string>
#include <vector>

#include "offline/analysis/efficiency.hpp"
#include "offline/database/store.hpp"

namespace refrain::database {

struct ScalingRow {
  std::int64_t processes = 0, runs = 0;
  double seconds = 0;           ///< of a process, the mean over processes and runs
  double deviation_s = 0;       ///< of `seconds` of single runs; 0 of one
  double speedup = 1;           ///< times the processes of the fewest: p is linear
  double efficiency = 1;        ///< speedup over processes
  double efficiency_error = 0;  ///< standard error, by the scatter of runs; 0: one of the two sizes has a single run
  double lost_s = 0;            ///< of all processes: what they take more than those of the fewest
};

struct ScalingRegion {
  std::string name;
  std::vector<ScalingRow> rows;  ///< ascending by processes
};

struct Scaling {
  std::string program, version;
  std::int64_t fewest = 0;             ///< processes of the run that others are compared with
  std::vector<ScalingRegion> regions;  ///< those with most time first
};

/// Of the version of `run`. `wanted`: names of regions, empty: those that have at least `least_share` of a run's time.
/// Throws DatabaseError.
Scaling scaling_of(Connection& connection, const StoredRun& run, const std::vector<std::string>& wanted,
                   double least_share);

/// The runs of the version of `run`, with their efficiencies: of the whole run, by the first threads of processes. A
/// database has neither machines nor waiting by process, so serialisation and transfer are not known. Runs without any
/// useful time are left out. Throws DatabaseError.
std::vector<analysis::SizedRun> sized_runs(Connection& connection, const StoredRun& run);

}  // namespace refrain::database

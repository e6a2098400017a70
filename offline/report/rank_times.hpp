#pragma once
/// The times of ranks from which efficiencies are computed (offline/analysis/efficiency.hpp): of the run, of a marked
/// region, or of a function.
///
/// Refrain's own time, and time for which the program stopped the measurement, are neither useful nor MPI. The time of
/// a marked region is exact. The time of a function comes from samples, has errors, and is time on a CPU only.

#include <optional>
#include <string>
#include <vector>

#include "offline/analysis/efficiency.hpp"
#include "offline/report/node_waits.hpp"

namespace refrain::report {

struct EfficiencyInput {
  const experiment::Experiment& experiment;
  const analysis::CallTree& tree;        ///< of all ranks
  const std::vector<NodeWait>& waits;    ///< by node; empty: not known
  const analysis::MinimumWaits* minima;  ///< null: not known
};

struct PartTimes {
  std::vector<analysis::RankTimes> ranks;  ///< those with any time there
  std::string why_no_waits;                ///< empty: waiting is known of all of them
  bool is_sampled = false;                 ///< useful time comes from samples
  /// Counted in useful time, over the first threads of all ranks (REFRAIN_METRICS); nullopt: some rank has not counted.
  std::optional<double> instructions = 0, cycles = 0;
};

/// Useful and MPI time of the first threads, and how much of it was on a CPU, from the tree alone: without machines and
/// waiting, and without reading anything.
std::vector<analysis::RankTimes> times_of_first_threads(const analysis::CallTree& tree);
/// Waiting is not known if, for more than half of the time in MPI, no method tells it. Reads all ranks.
PartTimes times_of_run(const EfficiencyInput& input);
/// Throws UsageError when there is no marked region, loop or function of the name.
PartTimes times_of_region(const EfficiencyInput& input, const std::string& name);

}  // namespace refrain::report

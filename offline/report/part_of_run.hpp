#pragma once
/// One iteration, or one cluster of iterations, as an experiment of its own: the report of a run shows it then.

#include <optional>
#include <string>
#include <vector>

#include "offline/report/loop_view.hpp"

namespace refrain::report {

struct PartOfRun {
  experiment::Experiment experiment;
  Options options;                       ///< those of the request, and the rank when there is only one
  std::vector<std::string> subject;      ///< lines that say what it is
  std::optional<bool> samples_recorded;  ///< of an iteration: all its samples are those that were recorded in it
  std::optional<SamplesOfPools> pool_samples;
  std::optional<bool> reconstructed;  ///< of an iteration: what call paths to MPI have is an estimate
};

/// Throws UsageError when the loop is not clear or has no such iteration or cluster.
PartOfRun part_of_run(const experiment::Experiment& experiment, const Options& options, const LoopView& view);

}  // namespace refrain::report

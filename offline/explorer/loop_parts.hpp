#pragma once
/// The iterations of an experiment's loops as the explorer shows them: curves and maps, and the units that trees show
/// instead of the run, which are classes of iterations and single ones.

#include <vector>

#include "offline/analysis/job_classes.hpp"
#include "offline/explorer/loop_pass.hpp"
#include "offline/explorer/run.hpp"
#include "offline/explorer/value_table.hpp"

namespace refrain::explorer {

/// The iterations of the job, or groups of `width` of them where they are very many, and their classes.
struct JobIterations {
  std::int64_t width = 1;
  std::vector<analysis::JobIteration> all;
  analysis::JobClasses classes;
};

/// How many bins a curve of the loop may have.
std::size_t most_bins(const LoopInput& input, const report::LoopGroup& group);

/// Adds the curves of metrics of whole iterations, and maps of the first ones. Goes once over the log.
JobIterations add_metric_curves(const LoopInput& input, const report::LoopGroup& group, Loop& loop, Run& run);

/// Adds classes and single iterations to the run's units, their values to the table, and the curves of the largest call
/// paths to the loop. Goes once over the ranks.
///
/// In a class a location has of each cluster the part that is in the class, MPI and user code each scaled to the time
/// that the class has of them, which is exact. Single iterations are reconstructed at some locations
/// (most_reconstructed_locations); at the others each is a class of one member.
void add_units(const LoopInput& input, const report::LoopGroup& group, const JobIterations& iterations, Loop& loop,
               ValueTable& table, Run& run);

/// Adds all loops, but for those beyond the eighth, which is told.
void add_loops(const LoopInput& input, ValueTable& table, Run& run);

}  // namespace refrain::explorer

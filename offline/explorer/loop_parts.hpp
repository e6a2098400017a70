#pragma once
/// The iterations of an experiment's loops as the explorer shows them: curves and maps, and the units that trees show
/// instead of the run, which are classes of iterations and single ones.

#include "offline/explorer/loop_pass.hpp"
#include "offline/explorer/loop_summary.hpp"
#include "offline/explorer/map_size.hpp"
#include "offline/explorer/run.hpp"
#include "offline/explorer/value_table.hpp"

namespace refrain::explorer {

/// How many bins a curve of the loop may have.
std::size_t most_bins(const LoopInput& input, const report::LoopGroup& group);

/// Adds the curves of metrics of whole iterations, and maps of the first ones. Goes once over the log.
JobIterations add_metric_curves(const LoopInput& input, const report::LoopGroup& group, const MapSize& map_size,
                                Loop& loop, Run& run);

/// Adds classes and single iterations to the run's units, their values to the table, and the curves of the largest call
/// paths to the loop. Goes once over the ranks.
///
/// In a class a location has of each cluster the part that is in the class, MPI and user code each scaled to the time
/// that the class has of them, which is exact. Single iterations are reconstructed at some locations
/// (most_reconstructed_locations); at the others each is a class of one member. Where that takes too long for all
/// locations (LoopInput::path_values), classes or single iterations are estimated from the former alone, by how many
/// locations each of them stands for, and MPI and user code are scaled to the time that all locations have of them.
void add_units(const LoopInput& input, const report::LoopGroup& group, const JobIterations& iterations, Loop& loop,
               ValueTable& table, Run& run);

/// Adds all loops, but for those beyond the eighth, which is told.
void add_loops(const LoopInput& input, ValueTable& table, Run& run);

}  // namespace refrain::explorer

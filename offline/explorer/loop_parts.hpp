#pragma once
/// The iterations of an experiment's loops as the explorer shows them: curves and maps, and the units that trees show
/// instead of the run, which are classes of iterations and single ones.

#include "offline/explorer/loop_pass.hpp"
#include "offline/explorer/loop_summary.hpp"
#include "offline/explorer/map_size.hpp"
#include "offline/explorer/run.hpp"
#include "offline/explorer/value_table.hpp"

namespace refrain::explorer {

/// Maximum number of bins of a curve of the loop.
std::size_t most_bins(const LoopInput& input, const report::LoopGroup& group);

/// Adds the curves of metrics of whole iterations, and maps of the first metrics. Reads the log once.
JobIterations add_metric_curves(const LoopInput& input, const report::LoopGroup& group, const MapSize& map_size,
                                Loop& loop, Run& run);

/// Adds classes and single iterations to the run's units, their values to the table, and the curves of the largest call
/// paths to the loop. Reads the ranks once.
///
/// At each location a class gets from each cluster the share of its members that are in the class; MPI and user code
/// are each scaled to the exact time that the class has of them. Single iterations are reconstructed at some locations
/// (most_reconstructed_locations); at the others each is treated as a class of one member. When that takes too long at
/// all locations (LoopInput::path_values), classes or single iterations are estimated from the reconstructed locations
/// alone, weighted by how many locations each represents, and MPI and user code are scaled to the time that all
/// locations have of them.
void add_units(const LoopInput& input, const report::LoopGroup& group, const JobIterations& iterations, Loop& loop,
               ValueTable& table, Run& run);

/// Adds the first eight loops, and a note if there are more.
void add_loops(const LoopInput& input, ValueTable& table, Run& run);

}  // namespace refrain::explorer

#pragma once
/// Reads the sections of a rank's block about marked loops: their clusters, what is known of all their iterations
/// together beside these, and how call paths scale with the metrics of whole iterations. All functions throw ReadError
/// and then leave the rank unchanged.

#include "offline/experiment/block_reader.hpp"
#include "offline/experiment/schema.hpp"

namespace refrain::experiment {

void read_loops(SectionReader& in, Rank& rank);
void read_single_iterations(SectionReader& in, Rank& rank);
void read_slopes(SectionReader& in, const ProfileDefinitions& definitions, const Schema& schema, Rank& rank);

}  // namespace refrain::experiment

#pragma once
/// The sections of a rank's block that are about marked loops: their clusters, their slowest iterations, and how call
/// paths follow the metrics of whole iterations. All throw ReadError, and leave the rank as it was then.

#include "offline/experiment/block_reader.hpp"
#include "offline/experiment/schema.hpp"

namespace refrain::experiment {

void read_loops(SectionReader& in, Rank& rank);
void read_slow_iterations(SectionReader& in, Rank& rank);
void read_slopes(SectionReader& in, const ProfileDefinitions& definitions, const Schema& schema, Rank& rank);

}  // namespace refrain::experiment

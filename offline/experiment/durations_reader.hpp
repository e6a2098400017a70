#pragma once
/// Reads the section Durations: durations of calls by call path and class.

#include "offline/experiment/block_reader.hpp"
#include "offline/experiment/profile.hpp"

namespace refrain::experiment {

/// Stores the durations in the rank's locations. Throws ReadError.
void read_durations(SectionReader& in, Rank& rank);

}  // namespace refrain::experiment

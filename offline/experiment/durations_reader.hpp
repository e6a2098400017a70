#pragma once
/// Reads the section Durations: how long calls have taken, by call path and class.

#include "offline/experiment/block_reader.hpp"
#include "offline/experiment/profile.hpp"

namespace refrain::experiment {

/// Into the locations of the rank. Throws ReadError.
void read_durations(SectionReader& in, Rank& rank);

}  // namespace refrain::experiment

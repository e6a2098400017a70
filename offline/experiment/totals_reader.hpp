#pragma once
/// Reads the section Totals: what the run of each location of a rank comes to by the time rules. It needs no other
/// section with values.

#include <cstdint>
#include <vector>

#include "offline/experiment/schema.hpp"

namespace refrain::experiment {

struct LocationRun {
  LocationDefinition definition;  ///< without own times, which are a section of their own
  RunTotals totals;
};

/// The locations of the rank in the order of the file. `mapping`: the path of the profile for each number that the rank
/// itself gave, all of them below profile.paths.size(). Adds extra metrics that the profile does not have yet. Throws
/// ReadError.
std::vector<LocationRun> read_totals(SectionReader in, const Schema& schema, Profile& profile,
                                     const std::vector<std::uint32_t>& mapping, std::int32_t rank);

}  // namespace refrain::experiment

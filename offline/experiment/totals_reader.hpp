#pragma once
/// Reads the section Totals: the totals of the run of each location, made by the time rules. It needs no other section
/// with values.

#include <vector>

#include "offline/experiment/schema.hpp"

namespace refrain::experiment {

/// The locations of the rank in the order of the file, with Location::run but without units, loops and own times, and
/// all extra metrics that the rank then has: its previous ones and those of the section.
struct RankTotals {
  std::vector<Location> locations;
  std::vector<ExtraMetric> extra_metrics;
  std::vector<std::size_t> asked_for;  ///< RankDefinition::asked_for
};
/// Throws ReadError.
RankTotals read_totals(SectionReader& in, const Schema& schema, const ProfileDefinitions& definitions,
                       const Rank& rank);

}  // namespace refrain::experiment

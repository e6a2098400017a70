#pragma once
/// The section Totals: sums over the whole run for each location. Runtime half.
///
/// It spares reports of a run from reading units. The time rules (format/time_rules.hpp) are applied to each unit by
/// itself, as the offline half does, and the results are added up. If two call paths have equal claims on a leftover
/// tick, the one with the lower number in the rank gets it.

#include "record/encoder.hpp"
#include "record/path_rows.hpp"
#include "record/rank_profile.hpp"

namespace refrain::record {

/// `paths` are the rank's own paths as for_each_location() takes them, all below `path_count`. `ticks_per_second` is
/// the value in the section Rank. The cost is that of sorting the values of each unit.
void encode_totals(const RankRecord& record, const Numbers& paths, std::size_t path_count, double ticks_per_second,
                   Encoder& out);

}  // namespace refrain::record

#pragma once
/// The section Totals: what the run of each location comes to. Runtime half.
///
/// The report of a run needs no unit then. The time rules (format/time_rules.hpp) are applied to each unit by itself,
/// as the offline half does, and the results added up. Where two call paths have equal claims on a tick that is left
/// over, the one with the lower number of the rank's own has it.

#include "record/encoder.hpp"
#include "record/path_rows.hpp"
#include "record/rank_profile.hpp"

namespace refrain::record {

/// `paths`: the rank's own path of each node, as for_each_location() wants them, all below `path_count`.
/// `ticks_per_second` as the section Rank has it. The work is that of sorting the values of each unit.
void encode_totals(const RankRecord& record, const Numbers& paths, std::size_t path_count, double ticks_per_second,
                   Encoder& out);

}  // namespace refrain::record

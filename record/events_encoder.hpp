#pragma once
/// The sections of a rank's block about events: what its file of events contains, what the call paths and times in it
/// mean, and messages that were sampled one by one. Runtime half.

#include "record/path_rows.hpp"

namespace refrain::record {

/// `all_paths`: the rank's own path of each node, for one location after the other.
void encode_events(const RankRecord& record, const Numbers& all_paths, Encoder& out);

/// The section SampledMessages, for the locations that have sampled messages.
bool has_sampled_messages(const RankRecord& record);
void encode_sampled_messages(const RankRecord& record, Encoder& out);

}  // namespace refrain::record

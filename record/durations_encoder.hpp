#pragma once
/// The section Durations: how long calls took, by call path and bin (waits/durations.hpp). Runtime half.

#include "record/path_rows.hpp"

namespace refrain::record {

bool has_durations(const RankRecord& record);
void encode_durations(const RankRecord& record, const Numbers& paths, Encoder& out);

}  // namespace refrain::record

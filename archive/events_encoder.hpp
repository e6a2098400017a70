#pragma once
/// The section Events of a rank's block: what its file of events has, and what the call paths and times in it mean.
/// Runtime half.

#include "archive/path_rows.hpp"

namespace refrain::archive {

/// `all_paths`: the rank's own path of each node of all locations, one behind the other.
[[nodiscard]] bool encode_events(const RankRecord& record, const Numbers& all_paths, Encoder& out);

}  // namespace refrain::archive

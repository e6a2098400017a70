#pragma once
/// The results of the analysis of a whole experiment, as figures of the call paths of its definitions.

#include <functional>
#include <vector>

#include "offline/experiment/kept_analysis.hpp"
#include "offline/patterns/analysis.hpp"
#include "offline/patterns/matched_waits.hpp"
#include "offline/patterns/path_waits.hpp"

namespace refrain::patterns {

/// The call path that stands for a node; -1: none does.
using PathOfNode = std::function<std::int64_t(std::uint32_t node)>;
/// Maps a node to the first of the call paths that share its name.
PathOfNode first_paths(const trace::Trace& trace, const Naming& naming);
/// Maps a node of the `by_path` results of Searched::by() to its call path.
std::int64_t path_itself(std::uint32_t node);

/// `matched` must have the same nodes as `analysis`.
PathWaits waits_of(const Analysis& analysis, const std::vector<MatchedWait>& matched, const trace::Trace& trace,
                   const PathOfNode& path_of);

/// The patterns as metrics of the run, without patterns for which events are missing.
std::vector<experiment::SavedMetric> as_metrics(const Analysis& analysis, const trace::Trace& trace,
                                                const PathOfNode& path_of);

}  // namespace refrain::patterns

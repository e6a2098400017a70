#pragma once
/// What an analysis of a whole experiment says, as figures of call paths of its definitions.

#include <functional>
#include <vector>

#include "offline/experiment/kept_analysis.hpp"
#include "offline/patterns/analysis.hpp"
#include "offline/patterns/matched_waits.hpp"
#include "offline/patterns/path_waits.hpp"

namespace refrain::patterns {

/// The call path that stands for a node; -1: none does.
using PathOfNode = std::function<std::int64_t(std::uint32_t node)>;
/// Of call paths of one name, which are one node, the first one.
PathOfNode first_paths(const trace::Trace& trace, const Naming& naming);
/// Of what Searched::by() says of each call path by itself.
std::int64_t path_itself(std::uint32_t node);

/// `matched`: by the same nodes.
PathWaits waits_of(const Analysis& analysis, const std::vector<MatchedWait>& matched, const trace::Trace& trace,
                   const PathOfNode& path_of);

/// The patterns as metrics of the run; those of which events are missing are none.
std::vector<experiment::SavedMetric> as_metrics(const Analysis& analysis, const trace::Trace& trace,
                                                const PathOfNode& path_of);

}  // namespace refrain::patterns

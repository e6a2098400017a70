#pragma once
/// Findings of waiting: the kinds of waiting that cost most, where, and why. Their shares agree with those of the same
/// call paths in the call tree and in `--waits` (node_waits.hpp).

#include <vector>

#include "offline/findings/finding.hpp"
#include "offline/patterns/analysis.hpp"
#include "offline/report/node_waits.hpp"

namespace refrain::report {

/// The waiting that findings are about.
struct WaitingOfRun {
  const analysis::CallTree& tree;
  const std::vector<analysis::LocationSummary>& locations;
  const std::vector<NodeWait>& waits;  ///< by node of the tree, whose nodes are those of the naming
};

/// The call paths that have waited most according to durations of calls: for a run without events.
std::vector<findings::Finding> findings_of_waiting(const WaitingOfRun& run);

/// One finding for each headline, with its cause. If the waiting of a call path is not known with certainty, the
/// finding has no share and names the part about which events tell. Then the call paths that have waited, but about
/// which events tell too little.
std::vector<findings::Finding> findings_of_waiting(const WaitingOfRun& run, const patterns::Analysis& analysis,
                                                   const trace::Trace& trace, const patterns::Naming& naming);

}  // namespace refrain::report

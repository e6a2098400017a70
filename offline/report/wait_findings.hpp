#pragma once
/// Findings of waiting: the kinds of waiting that cost most, where, and why. Their shares are those that the call tree
/// and `--waits` have of the same call paths (node_waits.hpp).

#include <vector>

#include "offline/findings/finding.hpp"
#include "offline/patterns/analysis.hpp"
#include "offline/report/node_waits.hpp"

namespace refrain::report {

/// The waiting that findings are about.
struct WaitingOfRun {
  const analysis::CallTree& tree;
  const std::vector<analysis::LocationSummary>& locations;
  const std::vector<NodeWait>& waits;  ///< by node of the tree, which is that of the naming
};

/// The call paths that have waited most, as durations of calls tell: for a run without events.
std::vector<findings::Finding> findings_of_waiting(const WaitingOfRun& run);

/// One for each headline, with its cause. Where what is known of a call path's waiting is not certain, the finding has
/// no share and names the part of which events tell. Then the call paths of which events tell too little, and which
/// have waited even so.
std::vector<findings::Finding> findings_of_waiting(const WaitingOfRun& run, const patterns::Analysis& analysis,
                                                   const trace::Trace& trace, const patterns::Naming& naming);

}  // namespace refrain::report

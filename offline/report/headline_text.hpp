#pragma once
/// What of an analysis should be told first, in words.

#include <span>
#include <vector>

#include "offline/findings/finding.hpp"
#include "offline/patterns/analysis.hpp"
#include "offline/report/node_waits.hpp"

namespace refrain::report {

/// What waiting is told of.
struct WaitingOfRun {
  const analysis::CallTree& tree;
  const std::vector<NodeWait>& waits;  ///< by node of the tree, which is that of the naming
  double elapsed_s;                    ///< what shares are of
};

/// One for each headline, as "late sender in exchange > MPI_Wait, mostly on rank 3; caused by main > smooth on rank 2".
/// Its share is of the run: where events tell of a part of the calls alone it is that of the call paths' waiting, with
/// their error, and where that says nothing the sentence has none and names the part. Then the call paths of which
/// events tell too little, and which have waited even so.
std::vector<findings::Finding> findings_of(const patterns::Analysis& analysis,
                                           std::span<const trace::LocationOfTrace> locations,
                                           const patterns::Naming& naming, const WaitingOfRun& run);

}  // namespace refrain::report

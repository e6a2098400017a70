#pragma once
/// What of an analysis should be told first, in words.

#include <vector>

#include "offline/findings/finding.hpp"
#include "offline/patterns/analysis.hpp"

namespace refrain::report {

/// `elapsed_s`: what shares are of. One for each headline, as "late sender in exchange > MPI_Wait, mostly on rank 3;
/// caused by main > smooth on rank 2".
std::vector<findings::Finding> findings_of(const patterns::Analysis& analysis, const trace::Trace& trace,
                                           const patterns::Naming& naming, double elapsed_s);

}  // namespace refrain::report

#pragma once
/// What of an analysis should be told first, in words.

#include <string>
#include <vector>

#include "offline/patterns/analysis.hpp"

namespace refrain::report {

/// A line for each headline, as "12.3 +- 0.4 % of the time: late sender in exchange > MPI_Wait, mostly on rank 3;
/// caused by main > smooth on rank 2".
std::vector<std::string> headline_lines(const patterns::Analysis& analysis, const trace::Trace& trace,
                                        const patterns::Naming& naming);

}  // namespace refrain::report

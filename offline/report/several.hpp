#pragma once
/// Several runs of one program: what they take on average, and how much they differ (analysis/several_runs.hpp).

#include <vector>

#include "offline/report/compared_run.hpp"

namespace refrain::report {

/// Shows the times of the runs, then a table by call path, those with most time of their own first. Values are per
/// rank. Of `request`, which check_compared_request() has accepted, the format, the minimum share and the arrangement
/// of the table are used; `runs` already have its names, ranks and threads.
void render_several(const std::vector<ComparedRun>& runs, const Request& request, const Terminal& terminal,
                    const Sink& out);

}  // namespace refrain::report

#pragma once
/// Several runs of one program: what they take on average, and how much they differ (analysis/several_runs.hpp).

#include <vector>

#include "offline/report/compared_run.hpp"

namespace refrain::report {

/// The runs' times, then one table by call path, those with most time of their own first. Values are per rank. Of
/// `request`, which was checked by check_compared_request(), the format and the least share count, and how the table is
/// arranged; `runs` have its names, ranks and threads.
void render_several(const std::vector<ComparedRun>& runs, const Request& request, const Terminal& terminal,
                    const Sink& out);

}  // namespace refrain::report

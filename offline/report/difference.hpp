#pragma once
/// What changed from one run to another: what stands out of each, by call path, and by iteration where both have marked
/// loops.

#include <vector>

#include "offline/findings/finding.hpp"
#include "offline/report/compared_run.hpp"

namespace refrain::report {

struct RunToCompare : ComparedRun {
  std::vector<findings::Finding> findings = {};
  bool is_searched = true;  ///< else there may be more findings
};

/// What stands out of both runs. The call paths of two runs by their names, those whose time differs most first, with
/// the error of the difference: that of samples, of times in MPI none. How much runs differ by chance is not known from
/// two of them. Where a loop is marked in both, its iterations and the call paths in them with an error that iterations
/// tell: as text only those that have changed for certain. Times are per rank. Of `request`, which was checked by
/// check_compared_request(), the format and the least share count, and of tables how they are arranged; `before` and
/// `now` have its names, ranks and threads. Runs of other tools have no findings, no iterations and no errors.
void render_difference(const RunToCompare& before, const RunToCompare& now, const Request& request,
                       const Terminal& terminal, const Sink& out);

}  // namespace refrain::report

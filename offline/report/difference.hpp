#pragma once
/// What changed from one run to another: findings, call paths, and iterations if both runs have marked loops.

#include <vector>

#include "offline/findings/finding.hpp"
#include "offline/report/compared_run.hpp"

namespace refrain::report {

struct RunToCompare : ComparedRun {
  std::vector<findings::Finding> findings = {};
  bool is_searched = true;  ///< false: there may be more findings
};

/// Shows the findings of both runs. Then their call paths, matched by name, the largest difference first, with the
/// error of the difference: that of samples; times in MPI have none. Two runs do not tell by how much runs differ by
/// chance. If a loop is marked in both, shows its iterations and the call paths in them, with an error that follows
/// from the iterations; text has only those call paths that have changed for certain. Times are per rank.
///
/// Of `request`, which check_compared_request() has accepted, the format, the minimum share and the arrangement of
/// tables are used; `before` and `now` already have its names, ranks and threads. Runs of other tools have no findings,
/// no iterations and no errors.
void render_difference(const RunToCompare& before, const RunToCompare& now, const Request& request,
                       const Terminal& terminal, const Sink& out);

}  // namespace refrain::report

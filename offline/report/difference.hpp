#pragma once
/// What changed from one run to another: what stands out of each, by call path, and by iteration where both have marked
/// loops.

#include <memory>
#include <vector>

#include "offline/report/report.hpp"

namespace refrain::report {

struct RunToCompare {
  std::shared_ptr<const experiment::Experiment> experiment;
  std::vector<findings::Finding> findings;
  bool is_searched = true;  ///< else there may be more findings
  Progress progress = {};   ///< of symbol resolution
};

/// What stands out of both runs. The call paths of two runs by their names, those whose time differs most first, with
/// the error of the difference: that of samples, of times in MPI none. How much runs differ by chance is not known from
/// two of them. Where a loop is marked in both, its iterations and the call paths in them with an error that iterations
/// tell: as text only those that have changed for certain. Times are per rank. Of `request` format, depth, folds, ranks
/// and threads, least share count, and of tables how they are arranged. Throws UsageError for others.
void render_difference(const RunToCompare& before, const RunToCompare& now, const Request& request,
                       const Terminal& terminal, analysis::Symbolizer& symbolizer, const Sink& out);

}  // namespace refrain::report

#pragma once
/// Times of marked loops by rank: of the whole loop, of ranges of its iterations, and of classes of iterations.

#include <memory>
#include <string>
#include <vector>

#include "offline/report/rank_times.hpp"

namespace refrain::report {

/// Iterations in which the job as a whole did about the same (offline/analysis/job_classes.hpp).
struct EfficiencyOfClass {
  std::int64_t number = 0, iterations = 0, first = 0, last = 0;
  double share = 0;  ///< of the loop's time over all ranks
  double parallel = 0, load_balance = 0, communication = 0;
};

struct LoopTimes {
  std::string name;
  PartTimes times;
  std::vector<analysis::EfficiencyOfRange> ranges;  ///< those that all ranks have
  std::vector<EfficiencyOfClass> classes;           ///< most iterations first; empty if ranks differ in iterations
};

/// The loops of the call tree, in the order of the run. Reads the iterations of all ranks, or of some ranks if there
/// are very many iterations.
std::vector<LoopTimes> times_of_loops(const std::shared_ptr<const experiment::Experiment>& experiment,
                                      const EfficiencyInput& input);

}  // namespace refrain::report

#pragma once
/// Several runs of one program: call paths matched by name, with the mean over runs, the deviation of the runs, and the
/// error of the mean that follows from it (Student 1908: the deviation of n runs divided by the root of n). Values are
/// means over the ranks of a run, so runs of different size can be put together.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "offline/analysis/call_tree.hpp"

namespace refrain::analysis {

/// One value over the runs for which it is known.
struct OverRuns {
  std::size_t runs = 0;
  double mean = 0, least = 0, greatest = 0;
  std::optional<double> deviation, standard_error;  ///< nothing for fewer than two runs
};

OverRuns over_runs(std::span<const double> values);

struct RunOfSeveral {
  const CallTree* tree;
  double ranks = 1;
  bool saw_whole = true;  ///< a call path that the run lacks took no time; else its time is unknown
  bool has_calls = true;  ///< calls of MPI were counted
};

struct PathOverRuns {
  std::vector<std::string> names;
  run::PathKind kind = run::PathKind::User;
  OverRuns exclusive_s, inclusive_s, mpi_calls;  ///< per rank
};

/// In preorder of the names. Time off the CPU is told apart by cause if all runs do that.
std::vector<PathOverRuns> paths_over_runs(std::span<const RunOfSeveral> runs);

}  // namespace refrain::analysis

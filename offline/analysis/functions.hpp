#pragma once
/// The flat view: values of each function over all its callers.

#include <string>
#include <vector>

#include "offline/analysis/call_tree.hpp"

namespace refrain::analysis {

struct FunctionTotals {
  std::string name;
  run::PathKind kind = run::PathKind::User;
  double exclusive_s = 0;
  double inclusive_s = 0;  ///< a path that passes through the function several times counts once
  double exclusive_error_s = 0, inclusive_error_s = 0;  ///< standard errors
  Counts exclusive;
};

/// Sorted by exclusive time, largest first.
std::vector<FunctionTotals> function_totals(const CallTree& tree);

}  // namespace refrain::analysis

#pragma once
/// Suggests an MPI call that may begin the iterations of a program whose main loop is not marked.

#include <optional>
#include <string>

#include "offline/analysis/call_tree.hpp"

namespace refrain::analysis {

struct IterationSuggestion {
  std::string function, caller;  ///< of MPI and of the program, as REFRAIN_ITERATION_AT takes them
  std::int64_t calls = 0;        ///< on every rank

  std::string setting() const { return function + "@" + caller; }
};

/// Suggests a collective operation that the first threads of all ranks call equally often, at one place, many times, in
/// the innermost function whose inclusive time covers 80 % of the run; of several operations, the one that is called
/// least often. If it is known which operations follow which, the operation lies on cycles that cover 80 % of the run:
/// an operation that is called only before the main loop begins no iteration. Nothing: there is no such operation.
std::optional<IterationSuggestion> suggest_iterations(const experiment::Experiment& experiment, const CallTree& tree);

}  // namespace refrain::analysis

#pragma once
/// Which call of MPI may begin the iterations of a program whose main loop is not marked.

#include <optional>
#include <string>

#include "offline/analysis/call_tree.hpp"

namespace refrain::analysis {

struct IterationSuggestion {
  std::string function, caller;  ///< of MPI, and of the program, as REFRAIN_ITERATION_AT takes them
  std::int64_t calls = 0;        ///< on every rank

  std::string setting() const { return function + "@" + caller; }
};

/// A collective operation that the first threads of all ranks call equally often, at one place, many times, in a
/// function that has 80 % of the run with what it calls, and of those the innermost one; of several the one that is
/// called least often. Where it is known which operations follow which, it lies on cycles that have 80 % of the run:
/// what is called only before the main loop begins no iteration. Nothing: there is none.
std::optional<IterationSuggestion> suggest_iterations(const experiment::Experiment& experiment, const CallTree& tree);

}  // namespace refrain::analysis

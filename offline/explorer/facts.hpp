#pragma once
/// The facts of the page: what was run, on what, and what was lost.

#include <string>
#include <utility>
#include <vector>

#include "offline/report/overview.hpp"

namespace refrain::explorer {

/// Pairs of a label and a text, for people.
std::vector<std::pair<std::string, std::string>> facts_of(const experiment::Experiment& experiment,
                                                          const report::Overview& overview,
                                                          const analysis::CallTree& tree);

}  // namespace refrain::explorer

#pragma once
/// Threads that wait for work most of the time, beside the ranks' first threads: what people read leaves out of all
/// shares that they were not on a CPU. Else everything that a program with many of them does would look small.

#include <optional>

#include "offline/analysis/call_tree.hpp"

namespace refrain::report {

/// How long threads that are not the first ones of their ranks were not on a CPU; 0 when no first thread is shown.
double idle_helpers_s(const analysis::CallTree& tree);
/// The tree without that time; nothing: there is none.
std::optional<analysis::CallTree> without_idle_helpers(const analysis::CallTree& tree);

}  // namespace refrain::report

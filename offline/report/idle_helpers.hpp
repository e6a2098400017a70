#pragma once
/// Helper threads, which are not the first of their rank and wait for work most of the time: reports for people leave
/// their idle time out of all shares. Otherwise everything that a program with many of them does would look small.

#include <optional>

#include "offline/analysis/call_tree.hpp"

namespace refrain::report {

/// Time that all threads other than the first of their rank were off the CPU without waiting for a core; 0 if no first
/// thread is shown.
double idle_helpers_s(const analysis::CallTree& tree);
/// The tree without that time; nullopt: there is none.
std::optional<analysis::CallTree> without_idle_helpers(const analysis::CallTree& tree);

}  // namespace refrain::report

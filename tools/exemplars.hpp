#pragma once
/// REFRAIN_TRACE=exemplars:EXPERIMENT: keeps the events of the iterations that represent the clusters of an earlier
/// run.

#include <string>

namespace refrain::tools {

/// Replaces the value of REFRAIN_TRACE in the environment by a list of iterations (config/trace_selection.hpp): for
/// each rank, thread and loop, the member of each cluster that is nearest to the cluster's mean. If the list has no
/// room for all of them, those of the largest clusters are taken, and stderr says so. Does nothing if the variable has
/// another value. Returns what is wrong; empty: nothing is wrong.
std::string choose_exemplars();

}  // namespace refrain::tools

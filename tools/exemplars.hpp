#pragma once
/// REFRAIN_TRACE=exemplars:EXPERIMENT: the events of the iterations that stand for the clusters of an earlier run.

#include <string>

namespace refrain::tools {

/// Replaces it in the environment by the list of the iterations (config/trace_selection.hpp): of each rank, thread and
/// loop the member of each cluster that is nearest to its mean. When there are more than the list has room for, those
/// of the clusters with most members are taken, which is said on stderr. Nothing happens when the variable says
/// something else. Returns what is wrong, empty: nothing.
std::string choose_exemplars();

}  // namespace refrain::tools

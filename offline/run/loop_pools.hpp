#pragma once
/// Finds how the user time of single iterations is divided (iteration_shares.hpp), once for all loops of an experiment,
/// and keeps the result in it (offline/experiment/kept_pools.hpp). After that, the cost of reading one iteration does
/// not depend on their number. Results are the same with and without kept pools.

#include <cstdint>
#include <functional>

#include "offline/experiment/experiment.hpp"

namespace refrain::run {

/// Whether the user has asked for an iteration. If not, pools are found only if there are at most 2^26 iterations and
/// rows of clusters in all: the limit is a count, not a time.
enum class Asked : bool { No, Yes };

/// Finds the pools if the experiment does not have them, on several threads, and keeps them in its directory, or in
/// memory if the directory cannot be written. Does nothing if there are no loops, or while the program runs.
///
/// Damaged ranks are left out, and then nothing is kept in the directory; the damage is reported when the ranks are
/// read. The first rank with which the pools exceed 32 MiB plus 48 KiB per rank is left out, and so are all later ones.
/// Pools that were left out are found when they are needed. `progress` is called with the share of the ranks that are
/// done; its exceptions are passed on.
void keep_pools(const experiment::Experiment& experiment, Asked asked,
                const std::function<void(double share)>& progress = {});

}  // namespace refrain::run

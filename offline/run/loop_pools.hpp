#pragma once
/// How the user time of single iterations is divided (iteration_shares.hpp), found once for all loops of an experiment
/// and kept in it (offline/experiment/kept_pools.hpp). After that one iteration costs what it is, however many there
/// are. What is said of an iteration does not depend on it.

#include <cstdint>
#include <functional>

#include "offline/experiment/experiment.hpp"

namespace refrain::run {

/// Whether the user has asked for an iteration. If not, pools are found only where the iterations and the rows of
/// clusters are 2^26 at most: these are counted, and no clock is looked at.
enum class Asked : bool { No, Yes };

/// Finds the pools where the experiment does not have them, on several threads, and keeps them in its directory, or
/// where that cannot be written, in memory. Does nothing where there are no loops, or while the program runs.
///
/// Ranks that are damaged are left out, and nothing is kept in the directory then; the damage is told when they are
/// read. Ranks are left out from the one on with which all take more than 32 MiB and 48 KiB for each rank. What is left
/// out is found when it is asked for. Throws what `progress` throws, which is called with the share of the ranks that
/// are done.
void keep_pools(const experiment::Experiment& experiment, Asked asked,
                const std::function<void(double share)>& progress = {});

}  // namespace refrain::run

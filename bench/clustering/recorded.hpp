#pragma once
/// Reads sequences from experiments with real programs in which every iteration is a cluster of its own, so that the
/// file contains every iteration in full: REFRAIN_CLUSTERS was at least the number of iterations. record.py makes such
/// experiments.

#include <filesystem>
#include <vector>

#include "bench/clustering/sequence.hpp"

namespace refrain::bench {

/// Returns the sequences of the first loop of the master thread of the first and of the middle rank. Throws if there is
/// no such loop or if iterations were merged.
std::vector<Sequence> recorded(const std::filesystem::path& experiment, const std::string& name);

/// Returns the sequences of all experiments and sequence files in a directory, ordered by name.
std::vector<Sequence> all_recorded(const std::filesystem::path& directory);

}  // namespace refrain::bench

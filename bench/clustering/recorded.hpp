#pragma once
/// Sequences recorded from real programs: experiments in which every iteration is a cluster of its own
/// (REFRAIN_CLUSTERS is at least their number), so that the file has every iteration in full. record.py makes them.

#include <filesystem>
#include <vector>

#include "bench/clustering/sequence.hpp"

namespace refrain::bench {

/// The first loop of the master thread of the first and of the middle rank. Throws if there is no such loop or if
/// iterations were merged.
std::vector<Sequence> recorded(const std::filesystem::path& experiment, const std::string& name);

/// The sequences of all experiments and sequence files in a directory, by name.
std::vector<Sequence> all_recorded(const std::filesystem::path& directory);

}  // namespace refrain::bench

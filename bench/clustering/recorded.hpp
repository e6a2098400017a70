#pragma once
/// Sequences recorded from real programs: experiments whose iterations are clusters of their own (REFRAIN_CLUSTERS at
/// least as large as their number), so that every iteration is in the file whole. record.py makes them.

#include <filesystem>
#include <vector>

#include "bench/clustering/sequence.hpp"

namespace refrain::bench {

/// The first loop of the master thread of the first and of the middle rank. Throws when there is no such loop or when
/// iterations have been merged.
std::vector<Sequence> recorded(const std::filesystem::path& experiment, const std::string& name);

/// Of all experiments and sequence files in a directory, by name.
std::vector<Sequence> all_recorded(const std::filesystem::path& directory);

}  // namespace refrain::bench

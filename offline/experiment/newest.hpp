#pragma once
/// Which experiments there are in a directory.

#include <filesystem>
#include <optional>

namespace refrain::experiment {

/// Whether a directory holds an experiment, damaged or not.
bool is_experiment(const std::filesystem::path& directory);

/// Of the experiments in `directory` the one whose program was started last; `directory` itself when it is one.
/// Nothing: there is none.
std::optional<std::filesystem::path> newest_experiment(const std::filesystem::path& directory);

}  // namespace refrain::experiment

#pragma once
/// Finds the experiments in a directory.

#include <filesystem>
#include <optional>

namespace refrain::experiment {

/// Whether a directory holds an experiment, damaged or not.
bool is_experiment(const std::filesystem::path& directory);

/// The experiment in `directory` whose program was started last; `directory` itself when it is an experiment. Nothing:
/// there is none.
std::optional<std::filesystem::path> newest_experiment(const std::filesystem::path& directory);

}  // namespace refrain::experiment

#pragma once
/// Files that tools keep in an experiment: they are replaced in one step, so that a reader has the old or the new one.

#include <cstddef>
#include <filesystem>
#include <span>

namespace refrain::experiment {

/// Writes under a temporary name, `*.new`, and renames. Throws std::system_error; nothing is left behind then.
void write_whole_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace refrain::experiment

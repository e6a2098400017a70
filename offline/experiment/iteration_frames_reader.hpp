#pragma once
/// Frames of iterations (iteration_frames.hpp): found when a profile is read, with the loops that they belong to. What
/// is in them is read later (reader.hpp).

#include <filesystem>

#include "offline/experiment/input_file.hpp"
#include "offline/experiment/profile.hpp"

namespace refrain::experiment {

/// Adds the places of the frames in [offset, offset + size) of `file` to the rank's loops; frames of loops or of kinds
/// that are not known are skipped. Only the heads of frames are looked at. Throws ReadError.
void find_iterations(const InputFile& file, std::uint64_t offset, std::uint64_t size, Rank& rank);

/// The same for what the rank wrote to a file of its own in `directory`: these frames come before those of the profile.
/// Does nothing when the profile says that there is no such file. Throws ReadError when it is missing, shorter than the
/// profile says, or damaged.
void find_spilled_iterations(const std::filesystem::path& directory, Rank& rank);

}  // namespace refrain::experiment

#pragma once
/// Frames of iterations (iteration_frames.hpp), read into the loops that they belong to. Offline half.

#include <filesystem>

#include "archive/input_file.hpp"
#include "archive/profile.hpp"

namespace refrain::archive {

/// Appends what the frames of `file` say to the logs and merges of the rank's loops; frames of loops or of kinds that
/// are not known are passed over. Throws ReadError.
void add_iterations(const InputFile& file, Rank& rank);

/// Puts what the rank wrote to a file of its own in `directory` before the iterations of its loops. Does nothing when
/// the profile says that there is none. Throws ReadError when the file is missing, shorter than the profile says, or
/// damaged.
void attach_spilled_iterations(const std::filesystem::path& directory, Rank& rank);

}  // namespace refrain::archive

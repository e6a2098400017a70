#pragma once
/// Reads one profile file (profile.refrain or a part).

#include "offline/experiment/input_file.hpp"
#include "offline/experiment/profile.hpp"

namespace refrain::experiment {

/// Throws ReadError for anything that is not as docs/file-format.md has it.
Profile parse_profile(const InputFile& file);

}  // namespace refrain::experiment
